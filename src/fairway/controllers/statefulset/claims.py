"""What becomes of `volumeClaimTemplates`: claims where the server has that kind, passing folders where not.

Fairway's own API server has no PersistentVolumeClaims; a Kubernetes these controllers are pointed at does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairway.api.resources import Resource
from fairway.controllers.workloads import StatefulSet
from fairway.controllers.writes import Create, Notice

PERSISTENT_VOLUME_CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")


def new_claims(owner: StatefulSet, pod: str) -> list[Create]:
    """One claim a template; its name stays with the Pod's, and so does what is stored there."""
    return [_claim(owner, template, pod) for template in owner.spec.volume_claim_templates or ()]


def with_claims(
    owner: StatefulSet, pod: str, volumes: Sequence[dict[str, Any]], *, claims: bool
) -> list[dict[str, Any]]:
    """The Pod's volumes; those of the templates come before ones of the same name."""
    templates = [_name(template) for template in owner.spec.volume_claim_templates or ()]
    claimed = [
        {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod}"}}
        if claims
        else {"name": name, "emptyDir": {}}
        for name in templates
    ]
    return [*claimed, *(volume for volume in volumes if volume.get("name") not in templates)]


def unclaimed(owner: StatefulSet, pod: str) -> Notice:
    names = ", ".join(_name(template) for template in owner.spec.volume_claim_templates or ())
    text = (
        f"This cluster has no PersistentVolumeClaims: volume(s) {names} of pod {pod} are emptyDirs,"
        " what is stored there is lost with the pod"
    )
    return Notice("VolumesNotPersistent", text, warning=True)


def _claim(owner: StatefulSet, template: dict[str, Any], pod: str) -> Create:
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), **(owner.spec.selector.match_labels or {})}
    namespace, name = owner.metadata.namespace, f"{_name(template)}-{pod}"
    body = {
        **template,
        "apiVersion": PERSISTENT_VOLUME_CLAIMS.api_version,
        "kind": PERSISTENT_VOLUME_CLAIMS.kind,
        "metadata": {
            **metadata,
            "name": name,
            "namespace": namespace,
            "labels": labels,
        },
    }
    body.pop("status", None)
    return Create(PERSISTENT_VOLUME_CLAIMS, namespace, body)


def _name(template: dict[str, Any]) -> str:
    return str((template.get("metadata") or {}).get("name") or "")
