"""Volumes of a Pod: each has a name of its own and exactly one source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.claims import validate_ephemeral
from fairway.api.kinds.pod_spec.names import validate_label
from fairway.api.kinds.pod_spec.projected import validate_projected
from fairway.api.kinds.pod_spec.volume_files import (
    Validate,
    validate_config_map,
    validate_downward_api,
    validate_secret,
)
from fairway.api.kinds.pod_spec.volume_plugins import PLUGINS, validate_host_path, validate_image
from fairway.api.schema.quantity import value_of
from fairway.api.validation.fields import (
    ErrorList,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
)
from fairway.api.validation.names import dns_subdomain_errors

SIZE_WRONG: Final = "SizeLimit field must be a valid resource quantity"
ONE_TYPE: Final = "may not specify more than 1 volume type"
CLAIM_TAKEN: Final = "must not reference a PVC that gets created for an ephemeral volume"


def validate_empty_dir(field: str, source: Obj) -> ErrorList:
    limit = source.get("sizeLimit")
    if limit is not None and value_of(limit) < 0:
        return [forbidden_field(f"{field}.sizeLimit", SIZE_WRONG)]
    return []


# In the order in which Kubernetes looks at them.
SOURCES: Final[dict[str, Validate]] = {
    "emptyDir": validate_empty_dir,
    "hostPath": validate_host_path,
    "gitRepo": PLUGINS["gitRepo"],
    "gcePersistentDisk": PLUGINS["gcePersistentDisk"],
    "awsElasticBlockStore": PLUGINS["awsElasticBlockStore"],
    "secret": validate_secret,
    "nfs": PLUGINS["nfs"],
    "iscsi": PLUGINS["iscsi"],
    "glusterfs": PLUGINS["glusterfs"],
    "flocker": PLUGINS["flocker"],
    "persistentVolumeClaim": PLUGINS["persistentVolumeClaim"],
    "rbd": PLUGINS["rbd"],
    "cinder": PLUGINS["cinder"],
    "cephfs": PLUGINS["cephfs"],
    "quobyte": PLUGINS["quobyte"],
    "downwardAPI": validate_downward_api,
    "fc": PLUGINS["fc"],
    "flexVolume": PLUGINS["flexVolume"],
    "configMap": validate_config_map,
    "azureFile": PLUGINS["azureFile"],
    "vsphereVolume": PLUGINS["vsphereVolume"],
    "photonPersistentDisk": PLUGINS["photonPersistentDisk"],
    "portworxVolume": PLUGINS["portworxVolume"],
    "azureDisk": PLUGINS["azureDisk"],
    "storageos": PLUGINS["storageos"],
    "projected": validate_projected,
    "scaleIO": PLUGINS["scaleIO"],
    "csi": PLUGINS["csi"],
    "ephemeral": validate_ephemeral,
    "image": validate_image,
}
# Where Kubernetes' messages name a field otherwise than the API does.
FIELD_NAMES: Final = {"gcePersistentDisk": "persistentDisk"}
EXTRA_NAMES: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def validate_volumes(
    field: str, volumes: Sequence[Obj], pod_name: str = ""
) -> tuple[dict[str, Obj], ErrorList]:
    """The valid ones by name, and what is wrong with the others."""
    errors: ErrorList = []
    valid: dict[str, Obj] = {}
    created = {f"{pod_name}-{v['name']}" for v in volumes if pod_name and v.get("ephemeral") is not None}
    for index, volume in enumerate(volumes):
        place = f"{field}[{index}]"
        wrong = validate_volume(place, volume, pod_name)
        if volume["name"] in valid:
            wrong.append(duplicate(f"{place}.name", volume["name"]))
        if wrong:
            errors += wrong
        else:
            valid[volume["name"]] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
        if claim in created:
            errors.append(invalid_value(f"{place}.persistentVolumeClaim.claimName", claim, CLAIM_TAKEN))
    return valid, errors


def validate_volume(field: str, volume: Obj, pod_name: str) -> ErrorList:
    errors = validate_source(field, volume, pod_name)
    if not volume["name"]:
        return [*errors, required(f"{field}.name")]
    return errors + validate_label(f"{field}.name", volume["name"])


def validate_source(field: str, volume: Obj, pod_name: str) -> ErrorList:
    errors: ErrorList = []
    found = [name for name in SOURCES if volume.get(name) is not None]
    for place, name in enumerate(found):
        if place:
            errors.append(forbidden_field(f"{field}.{EXTRA_NAMES.get(name, name)}", ONE_TYPE))
        else:
            errors += SOURCES[name](f"{field}.{FIELD_NAMES.get(name, name)}", volume[name])
        if name == "iscsi":
            errors += _iscsi_name_errors(field, volume)
        if name == "ephemeral" and not place:
            errors += _claim_name_errors(field, volume["name"], pod_name)
    return errors if found else [required(field, "must specify a volume type")]


def _iscsi_name_errors(field: str, volume: Obj) -> ErrorList:
    iscsi = volume["iscsi"]
    if iscsi.get("initiatorName") is None or len(f"{volume['name']}:{iscsi.get('targetPortal', '')}") <= 64:
        return []
    detail = (
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
        "iscsi.initiatorName is specified."
    )
    return [invalid_value(f"{field}.name", volume["name"], detail)]


def _claim_name_errors(field: str, name: str, pod_name: str) -> ErrorList:
    """The claim that is made for the volume is named after the Pod and the volume."""
    if not pod_name or not name:
        return []
    claim = f"{pod_name}-{name}"
    return [
        invalid_value(f"{field}.name", name, f'PVC name "{claim}": {detail}')
        for detail in dns_subdomain_errors(claim)
    ]
