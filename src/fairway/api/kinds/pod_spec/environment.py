"""Environment variables of containers, and where their values come from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.field_refs import validate_field_ref, validate_resource_ref
from fairway.api.kinds.pod_spec.names import validate_label, validate_subdomain
from fairway.api.kinds.pod_spec.paths import validate_no_backsteps
from fairway.api.validation.fields import (
    ErrorList,
    invalid_for_each,
    invalid_value,
    required,
    value_not_found,
)
from fairway.api.validation.names import (
    config_map_key_errors,
    environment_name_errors,
    subdomain_name,
)

VARIABLE_FIELDS: Final = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
NO_SOURCE: Final = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)
ONE_SOURCE: Final = "may not have more than one field specified at a time"
_is_plain: Final = re.compile("[A-Za-z0-9_.-]+").fullmatch


def validate_environment(field: str, variables: Sequence[Obj]) -> ErrorList:
    errors: ErrorList = []
    for index, variable in enumerate(variables):
        name = variable.get("name", "")
        if not name:
            errors.append(required(f"{field}[{index}].name"))
        elif not _is_plain(name):
            errors += invalid_for_each(f"{field}[{index}].name", name, environment_name_errors(name))
        if (source := variable.get("valueFrom")) is not None:
            errors += _validate_source(f"{field}[{index}].valueFrom", source, variable.get("value", ""))
    return errors


def _validate_source(field: str, source: Obj, value: str) -> ErrorList:
    errors: ErrorList = []
    if (reference := source.get("fieldRef")) is not None:
        errors += validate_field_ref(f"{field}.fieldRef", reference, VARIABLE_FIELDS)
    if (reference := source.get("resourceFieldRef")) is not None:
        errors += validate_resource_ref(f"{field}.resourceFieldRef", reference, of_volume=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if (reference := source.get(kind)) is not None:
            errors += _validate_key_ref(f"{field}.{kind}", reference)
    if (reference := source.get("fileKeyRef")) is not None:
        errors += _validate_file_ref(f"{field}.fileKeyRef", reference)
    if detail := _count_fault(len(source), value):
        errors.append(invalid_value(field, "", detail))
    return errors


def _count_fault(sources: int, value: str) -> str:
    if not sources:
        return NO_SOURCE
    if value:
        return "may not be specified when `value` is not empty"
    return ONE_SOURCE if sources > 1 else ""


def _validate_key_ref(field: str, reference: Obj) -> ErrorList:
    errors = validate_subdomain(f"{field}.name", reference.get("name", ""))
    key = reference.get("key", "")
    if not key:
        return [*errors, required(f"{field}.key")]
    return errors + invalid_for_each(f"{field}.key", key, config_map_key_errors(key))


def _validate_file_ref(field: str, reference: Obj) -> ErrorList:
    errors: ErrorList = []
    key, volume, path = (reference.get(name, "") for name in ("key", "volumeName", "path"))
    if key:
        errors += invalid_for_each(f"{field}.key", key, environment_name_errors(key))
    else:
        errors.append(required(f"{field}.key"))
    errors += validate_label(f"{field}.volumeName", volume) if volume else [required(f"{field}.volumeName")]
    return errors + (validate_no_backsteps(f"{field}.path", path) if path else [required(f"{field}.path")])


def validate_environment_from(field: str, sources: Sequence[Obj]) -> ErrorList:
    errors: ErrorList = []
    for index, source in enumerate(sources):
        place = f"{field}[{index}]"
        if prefix := source.get("prefix"):
            errors += invalid_for_each(f"{place}.prefix", prefix, environment_name_errors(prefix))
        given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in given:
            errors += _validate_object_ref(f"{place}.{name}.name", source[name].get("name", ""))
        if not given:
            errors.append(invalid_value(field, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            errors.append(invalid_value(field, "", ONE_SOURCE))
    return errors


def _validate_object_ref(field: str, name: str) -> ErrorList:
    return invalid_for_each(field, name, subdomain_name(name, True)) if name else [required(field)]


def validate_file_key_volumes(spec: Obj, containers: Sequence[tuple[str, Obj]]) -> ErrorList:
    """Variables can be read from files of an emptyDir only."""
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
    errors: ErrorList = []
    for place, container in containers:
        for index, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is not None:
                where = f"{place}.env[{index}].valueFrom.fileKeyRef.volumeName"
                errors += _validate_file_volume(where, reference.get("volumeName", ""), volumes)
    return errors


def _validate_file_volume(field: str, name: str, volumes: dict[str, Obj]) -> ErrorList:
    if name not in volumes:
        return [value_not_found(field, name)]
    if volumes[name].get("emptyDir") is None:
        return [invalid_value(field, name, "referenced volume must be of type emptyDir")]
    return []
