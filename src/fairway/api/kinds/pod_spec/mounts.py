"""Where a container mounts volumes, and which block devices it is given."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.paths import validate_descending, validate_no_backsteps
from fairway.api.kinds.pod_spec.scope import Scope
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    value_not_found,
)

PROPAGATION: Final = frozenset({"Bidirectional", "HostToContainer", "None"})
RECURSIVE: Final = frozenset({"Disabled", "IfPossible", "Enabled"})
NOT_BLOCK: Final = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
BIDIRECTIONAL: Final = "Bidirectional mount propagation is available only to privileged containers"


def validate_mounts(field: str, container: Obj, scope: Scope) -> ErrorList:
    errors: ErrorList = []
    devices = {device["name"]: device["devicePath"] for device in container.get("volumeDevices") or ()}
    taken: set[str] = set()
    for index, mount in enumerate(container["volumeMounts"]):
        name, path = mount.get("name", ""), mount.get("mountPath", "")
        place = f"{field}[{index}]"
        if not name:
            errors.append(required(f"{place}.name"))
        if name not in scope.volumes:
            errors.append(value_not_found(f"{place}.name", name))
        if not path:
            errors.append(required(f"{place}.mountPath"))
        if path in taken:
            errors.append(invalid_value(f"{place}.mountPath", path, "must be unique"))
        taken.add(path)
        if devices:
            errors += _device_clashes(place, name, path, devices)
        if len(mount) > 2:
            errors += _validate_how(field, place, mount, container)
    return errors


def _device_clashes(field: str, name: str, path: str, devices: dict[str, str]) -> ErrorList:
    errors: ErrorList = []
    if name in devices:
        errors.append(invalid_value(f"{field}.name", name, "must not already exist in volumeDevices"))
    if path in devices.values():
        detail = "must not already exist as a path in volumeDevices"
        errors.append(invalid_value(f"{field}.mountPath", path, detail))
    return errors


def _validate_how(field: str, place: str, mount: Obj, container: Obj) -> ErrorList:
    """Sub-paths and propagation. Kubernetes names the list here, not the mount."""
    errors: ErrorList = []
    path, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    if path:
        errors += validate_descending(f"{field}.subPath", path)
    if expression:
        if path:
            detail = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid_value(f"{place}.subPathExpr", expression, detail))
        errors += validate_descending(f"{field}.subPathExpr", expression)
    if (propagation := mount.get("mountPropagation")) is not None:
        errors += _validate_propagation(f"{field}.mountPropagation", propagation, container)
    if (recursive := mount.get("recursiveReadOnly")) is not None:
        errors += _validate_recursive(f"{field}.recursiveReadOnly", recursive, mount)
    return errors


def _validate_propagation(field: str, propagation: str, container: Obj) -> ErrorList:
    if propagation not in PROPAGATION:
        return [not_supported(field, propagation, PROPAGATION)]
    privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not privileged:
        return [forbidden_field(field, BIDIRECTIONAL)]
    return []


def _validate_recursive(field: str, recursive: str, mount: Obj) -> ErrorList:
    if recursive not in RECURSIVE:
        return [not_supported(field, recursive, RECURSIVE)]
    if recursive == "Disabled":
        return []
    errors: ErrorList = []
    if not mount.get("readOnly"):
        errors.append(forbidden_field(field, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation") not in (None, "None"):
        detail = "may only be specified when mountPropagation is None or not specified"
        errors.append(forbidden_field(field, detail))
    return errors


def validate_devices(field: str, container: Obj, scope: Scope) -> ErrorList:
    errors: ErrorList = []
    mounts = {mount["name"]: mount["mountPath"] for mount in container.get("volumeMounts") or ()}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
        place, name, path = f"{field}[{index}]", device.get("name", ""), device.get("devicePath", "")
        errors += _validate_device_name(f"{place}.name", name, names, scope)
        errors += _validate_device_path(f"{place}.devicePath", path, paths)
        if name in mounts:
            errors.append(invalid_value(f"{place}.name", name, "must not already exist in volumeMounts"))
        if path in mounts.values():
            detail = "must not already exist as a path in volumeMounts"
            errors.append(invalid_value(f"{place}.devicePath", path, detail))
        names.add(name)
    return errors


def _validate_device_name(field: str, name: str, taken: set[str], scope: Scope) -> ErrorList:
    errors: ErrorList = []
    if not name:
        errors.append(required(field))
    elif name in taken:
        errors.append(invalid_value(field, name, "must be unique"))
    volume = scope.volumes.get(name)
    if volume is None:
        errors.append(value_not_found(field, name))
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        errors.append(invalid_value(field, name, NOT_BLOCK))
    return errors


def _validate_device_path(field: str, path: str, taken: set[str]) -> ErrorList:
    errors: ErrorList = []
    if not path:
        errors.append(required(field))
    if path in taken:
        errors.append(invalid_value(field, path, "must be unique"))
    if path and validate_no_backsteps(field, path):
        errors.append(invalid_value(field, path, "can not contain backsteps ('..')"))
    else:
        taken.add(path)
    return errors
