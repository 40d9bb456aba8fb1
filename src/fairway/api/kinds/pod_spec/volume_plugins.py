"""Volumes that storage plugins provide: what each needs to be told.

Most only want some fields filled in; those stand in one table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.names import validate_label, validate_subdomain
from fairway.api.kinds.pod_spec.paths import validate_descending, validate_no_backsteps
from fairway.api.kinds.pod_spec.volume_files import Validate
from fairway.api.validation.fields import (
    ErrorList,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from fairway.api.validation.names import dns_subdomain_errors
from fairway.api.validation.values import validate_one_of, validate_range

HOST_PATH_TYPES: Final = frozenset(
    {"", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"}
)
PULL_POLICIES: Final = frozenset({"Always", "IfNotPresent", "Never"})
PARTITION: Final = "must be between 1 and 255, inclusive"
CACHING_MODES: Final = frozenset({"None", "ReadOnly", "ReadWrite"})
DISK_KINDS: Final = frozenset({"Shared", "Dedicated", "Managed"})
MANAGED_URI: Final = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
)
BLOB_URI: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
ISCSI_NAMES: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$").search,
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$").search,
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$").search,
}
# Fields that must not be empty, in the order in which their absence is noted.
NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "persistentVolumeClaim": ("claimName",),
    "glusterfs": ("endpoints", "path"),
    "rbd": ("monitors", "image"),
    "cephfs": ("monitors",),
    "azureFile": ("secretName", "shareName"),
    "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "scaleIO": ("gateway", "system", "volumeName"),
}


def needs(*names: str) -> Validate:
    return lambda field, source: [required(f"{field}.{name}") for name in names if not source.get(name)]


def validate_host_path(field: str, source: Obj) -> ErrorList:
    if not source.get("path"):
        return [required(f"{field}.path")]
    errors = validate_no_backsteps(f"{field}.path", source["path"])
    return errors + validate_one_of(f"{field}.type", source.get("type") or "", HOST_PATH_TYPES)


def validate_image(field: str, source: Obj) -> ErrorList:
    errors: ErrorList = [] if source.get("reference") else [required(f"{field}.reference")]
    return errors + validate_pull_policy(f"{field}.pullPolicy", source.get("pullPolicy", ""))


def validate_pull_policy(field: str, policy: str) -> ErrorList:
    if policy in PULL_POLICIES:
        return []
    return [not_supported(field, policy, PULL_POLICIES) if policy else required(field)]


def _git_repo(field: str, source: Obj) -> ErrorList:
    errors = needs("repository")(field, source)
    return errors + validate_descending(f"{field}.directory", source.get("directory", ""))


def _disk(name: str) -> Validate:
    def validate(field: str, source: Obj) -> ErrorList:
        errors = needs(name)(field, source)
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            errors.append(invalid_value(f"{field}.partition", partition, PARTITION))
        return errors

    return validate


def _nfs(field: str, source: Obj) -> ErrorList:
    errors = needs("server", "path")(field, source)
    path = source.get("path", "")
    if not path.startswith("/"):
        errors.append(invalid_value(f"{field}.path", path, "must be an absolute path"))
    return errors


def _iscsi(field: str, source: Obj) -> ErrorList:
    errors = needs("targetPortal")(field, source)
    if not source.get("iqn"):
        errors.append(required(f"{field}.iqn"))
    else:
        errors += _iscsi_name_errors(f"{field}.iqn", source["iqn"])
    errors += validate_range(f"{field}.lun", source.get("lun", 0), 0, 255)
    chap = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if chap and source.get("secretRef") is None:
        errors.append(required(f"{field}.secretRef"))
    if (initiator := source.get("initiatorName")) is not None:
        errors += _iscsi_name_errors(f"{field}.initiatorname", initiator)
    return errors


def _iscsi_name_errors(field: str, name: str) -> ErrorList:
    matches = ISCSI_NAMES.get(name[:3])
    if matches is None:
        return [invalid_value(field, name, "must be valid format starting with iqn, eui, or naa")]
    return [] if matches(name) else [invalid_value(field, name, "must be valid format")]


def _flocker(field: str, source: Obj) -> ErrorList:
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    errors: ErrorList = []
    if not name and not uuid:
        errors.append(required(field, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(invalid_value(field, "resource", detail))
    if "/" in name:
        errors.append(invalid_value(f"{field}.datasetName", name, "must not contain '/'"))
    return errors


def _cinder(field: str, source: Obj) -> ErrorList:
    return needs("volumeID")(field, source) + _secret_reference(field, source)


def _secret_reference(field: str, source: Obj) -> ErrorList:
    reference = source.get("secretRef")
    named = reference is None or reference.get("name")
    return [] if named else [required(f"{field}.secretRef.name")]


def _quobyte(field: str, source: Obj) -> ErrorList:
    registry, detail = (
        source.get("registry", ""),
        "must be a host:port pair or multiple pairs separated by commas",
    )
    errors: ErrorList = []
    if not registry:
        errors.append(required(f"{field}.registry", detail))
    elif len(source.get("tenant", "")) >= 65:
        length = "must be a UUID and may not exceed a length of 64 characters"
        errors.append(required(f"{field}.tenant", length))
    else:
        pairs = registry.split(",")
        errors += [
            invalid_value(f"{field}.registry", registry, detail) for pair in pairs if pair.count(":") != 1
        ]
    return errors + needs("volume")(field, source)


def _fibre_channel(field: str, source: Obj) -> ErrorList:
    names, ids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    errors: ErrorList = []
    if not names and not ids:
        errors.append(
            required(f"{field}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
        )
    if names and ids:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(invalid_value(f"{field}.targetWWNs", names, detail))
    if names and lun is not None:
        errors += validate_range(f"{field}.lun", lun, 0, 255)
    elif names:
        errors.append(required(f"{field}.lun", "lun is required if targetWWNs is specified"))
    return errors


def _flex(field: str, source: Obj) -> ErrorList:
    errors = needs("driver")(field, source)
    for key in sorted(source.get("options") or ()):
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid_value(f"{field}.options[{key}]", key, detail))
    return errors


def _azure_disk(field: str, source: Obj) -> ErrorList:
    errors = needs("diskName", "diskURI")(field, source)
    errors += validate_one_of(f"{field}.cachingMode", source.get("cachingMode"), CACHING_MODES)
    kind, uri = source.get("kind"), source.get("diskURI", "")
    errors += validate_one_of(f"{field}.kind", kind, DISK_KINDS)
    managed = kind == "Managed"
    if not uri.startswith("/subscriptions/" if managed else "https://"):
        errors.append(not_supported(f"{field}.diskURI", uri, [MANAGED_URI if managed else BLOB_URI]))
    return errors


def _storage_os(field: str, source: Obj) -> ErrorList:
    name, namespace = source.get("volumeName", ""), source.get("volumeNamespace", "")
    errors = validate_label(f"{field}.volumeName", name) if name else [required(f"{field}.volumeName")]
    if namespace:
        errors += validate_label(f"{field}.volumeNamespace", namespace)
    return errors + _secret_reference(field, source)


def _csi(field: str, source: Obj) -> ErrorList:
    errors = validate_driver_name(f"{field}.driver", source.get("driver", ""))
    if (reference := source.get("nodePublishSecretRef")) is not None:
        if not reference.get("name"):
            errors.append(required(f"{field}.nodePublishSecretRef.name"))
        else:
            errors += validate_subdomain(f"{field}.name", reference["name"])
    return errors


def validate_driver_name(field: str, name: str) -> ErrorList:
    if not name:
        return [required(field)]
    errors: ErrorList = [too_long(field, 63)] if len(name) > 63 else []
    return errors + [invalid_value(field, name, detail) for detail in dns_subdomain_errors(name.lower())]


PLUGINS: Final[dict[str, Validate]] = {
    **{name: needs(*fields) for name, fields in NEEDED.items()},
    "gitRepo": _git_repo,
    "gcePersistentDisk": _disk("pdName"),
    "awsElasticBlockStore": _disk("volumeID"),
    "nfs": _nfs,
    "iscsi": _iscsi,
    "flocker": _flocker,
    "cinder": _cinder,
    "quobyte": _quobyte,
    "fc": _fibre_channel,
    "flexVolume": _flex,
    "azureDisk": _azure_disk,
    "storageos": _storage_os,
    "csi": _csi,
}
