"""Volumes made of files: Secrets, ConfigMaps, and what a Pod knows about itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.field_refs import validate_field_ref, validate_resource_ref
from fairway.api.kinds.pod_spec.paths import validate_file_mode, validate_not_reserved
from fairway.api.validation.fields import ErrorList, invalid_value, required

Validate = Callable[[str, Obj], ErrorList]

VOLUME_FIELDS: Final = frozenset(
    {"metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"}
)


def validate_secret(field: str, source: Obj) -> ErrorList:
    return _validate_keyed(field, source, "secretName")


def validate_config_map(field: str, source: Obj) -> ErrorList:
    return _validate_keyed(field, source, "name")


def _validate_keyed(field: str, source: Obj, name: str) -> ErrorList:
    errors: ErrorList = [] if source.get(name) else [required(f"{field}.{name}")]
    errors += validate_file_mode(f"{field}.defaultMode", source.get("defaultMode"))
    for index, item in enumerate(source.get("items") or ()):
        errors += validate_key_to_path(f"{field}.items[{index}]", item)
    return errors


def validate_key_to_path(field: str, item: Obj) -> ErrorList:
    errors: ErrorList = []
    for name in ("key", "path"):
        if not item.get(name):
            errors.append(required(f"{field}.{name}"))
    errors += validate_not_reserved(f"{field}.path", item.get("path", ""))
    return errors + validate_file_mode(f"{field}.mode", item.get("mode"))


def validate_downward_api(field: str, source: Obj) -> ErrorList:
    errors = validate_file_mode(f"{field}.defaultMode", source.get("defaultMode"))
    for item in source.get("items") or ():
        errors += validate_downward_file(field, item)
    return errors


def validate_downward_file(field: str, item: Obj) -> ErrorList:
    """Complaints name the list's owner, not the item: so does Kubernetes."""
    path = item.get("path", "")
    errors: ErrorList = [] if path else [required(f"{field}.path")]
    errors += validate_not_reserved(f"{field}.path", path)
    by_field, by_resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if by_field is not None:
        errors += validate_field_ref(f"{field}.fieldRef", by_field, VOLUME_FIELDS)
        if by_resource is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid_value(field, "resource", detail))
    elif by_resource is not None:
        errors += validate_resource_ref(f"{field}.resourceFieldRef", by_resource, of_volume=True)
    else:
        errors.append(required(field, "one of fieldRef and resourceFieldRef is required"))
    return errors + validate_file_mode(f"{field}.mode", item.get("mode"))
