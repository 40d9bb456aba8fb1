"""What a Pod has of its ServiceAccount: a token in every container, and secrets to pull images with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.defaults import every_container
from fairway.api.metadata import generated_name

DEFAULT_ACCOUNT: Final = "default"
TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX: Final = "kube-api-access-"
# A little more than an hour, by which such tokens are told from those that were asked for by hand.
TOKEN_SECONDS: Final = 3607
ENFORCED: Final = "kubernetes.io/enforce-mountable-secrets"
TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")


def wants_token(account: Obj, spec: Obj) -> bool:
    """The Pod's word counts before the account's."""
    for owner in (spec, account):
        wanted: Any = owner.get("automountServiceAccountToken")
        if wanted is not None:
            return bool(wanted)
    return True


def mount_token(spec: Obj) -> None:
    volumes = spec.get("volumes") or []
    names = [volume["name"] for volume in volumes]
    existing = next((name for name in names if name.startswith(VOLUME_PREFIX)), "")
    name = existing or generated_name(VOLUME_PREFIX)
    used = False
    for part in ("initContainers", "containers"):
        for container in spec.get(part) or ():
            mounts = container.get("volumeMounts") or []
            if any(mount.get("mountPath") == TOKEN_PATH for mount in mounts):
                continue
            mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
            container["volumeMounts"] = [*mounts, mount]
            used = True
    if used and not existing:
        spec["volumes"] = [*volumes, token_volume(name)]


def token_volume(name: str) -> Obj:
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources: list[Obj] = [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}


def give_pull_secrets(account: Obj, spec: Obj) -> None:
    secrets = account.get("imagePullSecrets")
    if secrets and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(secret) for secret in secrets]


def mirror_fault(spec: Obj) -> str:
    """Pods that a node runs by itself can't use what only the API server can give."""
    what = ""
    if spec.get("serviceAccountName"):
        what = "reference service accounts"
    elif any(_secrets(spec)):
        what = "reference secrets"
    elif any(_config_maps(spec)):
        what = "reference configmaps"
    elif any(source.get("serviceAccountToken") is not None for source in _projections(spec)):
        what = "use ServiceAccountToken volume projections"
    elif any(volume.get("persistentVolumeClaim") for volume in spec.get("volumes") or ()):
        what = "reference persistentvolumeclaims"
    elif spec.get("resourceClaims"):
        what = "reference resourceclaims"
    return f"a mirror pod may not {what}" if what else ""


def _projections(spec: Obj) -> Iterator[Obj]:
    for volume in spec.get("volumes") or ():
        yield from (volume.get("projected") or {}).get("sources") or ()


def _secrets(spec: Obj) -> Iterator[str]:
    yield from (each.get("name", "") for each in spec.get("imagePullSecrets") or ())
    for container in every_container(spec):
        yield from (each["secretRef"].get("name", "") for each in _given(container, "envFrom", "secretRef"))
        for variable in container.get("env") or ():
            if (reference := (variable.get("valueFrom") or {}).get("secretKeyRef")) is not None:
                yield reference.get("name", "")
    for volume in spec.get("volumes") or ():
        if volume.get("secret") is not None:
            yield volume["secret"].get("secretName", "")
    yield from (
        each["secret"].get("name", "") for each in _projections(spec) if each.get("secret") is not None
    )


def _config_maps(spec: Obj) -> Iterator[str]:
    for container in every_container(spec):
        yield from (
            each["configMapRef"].get("name", "") for each in _given(container, "envFrom", "configMapRef")
        )
        for variable in container.get("env") or ():
            if (reference := (variable.get("valueFrom") or {}).get("configMapKeyRef")) is not None:
                yield reference.get("name", "")
    for volume in (*(spec.get("volumes") or ()), *_projections(spec)):
        if volume.get("configMap") is not None:
            yield volume["configMap"].get("name", "")


def _given(owner: Obj, part: str, name: str) -> list[Obj]:
    return [each for each in owner.get(part) or () if each.get(name) is not None]


def limit_secrets(account: Obj, spec: Obj) -> str:
    """Accounts may confine their Pods to the Secrets they list; what goes beyond, in words."""
    annotations = (account.get("metadata") or {}).get("annotations") or {}
    if annotations.get(ENFORCED) not in TRUE:
        return ""
    allowed = {secret.get("name", "") for secret in account.get("secrets") or ()}
    tail = f"is not allowed because service account {account['metadata']['name']} does not reference that"
    for volume in spec.get("volumes") or ():
        name = (volume.get("secret") or {}).get("secretName")
        if name is not None and name not in allowed:
            return f'volume with secret.secretName="{name}" {tail} secret'
    if fault := _variable_fault(spec, allowed, tail):
        return fault
    pull = {secret.get("name", "") for secret in account.get("imagePullSecrets") or ()}
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if secret.get("name", "") not in pull:
            return f'imagePullSecrets[{index}].name="{secret.get("name", "")}" {tail} imagePullSecret'
    return ""


def _variable_fault(spec: Obj, allowed: set[str], tail: str) -> str:
    for part, what in (("initContainers", "init container"), ("containers", "container")):
        for container in spec.get(part) or ():
            for variable in container.get("env") or ():
                reference = (variable.get("valueFrom") or {}).get("secretKeyRef") or {}
                if reference and reference.get("name", "") not in allowed:
                    return (
                        f"{what} {container['name']} with envVar {variable['name']} referencing "
                        f'secret.secretName="{reference.get("name", "")}" {tail} secret'
                    )
    return ""
