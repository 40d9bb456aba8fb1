"""Defaults of volumes: file modes, image pulling, and what old storage plugins assume."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.images import pull_policy

FILE_MODE: Final = 0o644
TOKEN_SECONDS: Final = 3600
# Plugins that set something where nothing is given; null and empty count as nothing.
PLUGIN_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "configMap": {"defaultMode": FILE_MODE},
    "secret": {"defaultMode": FILE_MODE},
    "downwardAPI": {"defaultMode": FILE_MODE},
    "projected": {"defaultMode": FILE_MODE},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def default_volume(volume: Obj) -> None:
    source = next((name for name in volume if name != "name"), None)
    if source is None:
        volume["emptyDir"] = {}
        return
    for name, defaults in PLUGIN_DEFAULTS.items():
        if (plugin := volume.get(name)) is not None:
            _fill(plugin, defaults)
    if (path := volume.get("hostPath")) is not None and path.get("type") is None:
        path["type"] = ""
    if (image := volume.get("image")) is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(image.get("reference", ""))
    if template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
        default_claim_spec(template.setdefault("spec", {}))
    _default_items(volume)


def default_claim_spec(spec: Obj) -> None:
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"


def _fill(plugin: Obj, defaults: Mapping[str, Any]) -> None:
    for name, value in defaults.items():
        if plugin.get(name) in (None, ""):
            plugin[name] = value


def _default_items(volume: Obj) -> None:
    """Files from fields of the Pod, and tokens."""
    items = list((volume.get("downwardAPI") or {}).get("items") or ())
    for source in (volume.get("projected") or {}).get("sources") or ():
        items += (source.get("downwardAPI") or {}).get("items") or ()
        token = source.get("serviceAccountToken")
        if token is not None and token.get("expirationSeconds") is None:
            token["expirationSeconds"] = TOKEN_SECONDS
    for item in items:
        reference = item.get("fieldRef")
        if reference is not None and not reference.get("apiVersion"):
            reference["apiVersion"] = "v1"
