"""References from networking objects to other objects: a kind and a name, each fit for a path."""

from __future__ import annotations

from fairway.api.kind import Obj
from fairway.api.validation.fields import ErrorList, invalid_for_each, required
from fairway.api.validation.names import dns_subdomain_errors, path_segment_errors


def validate_group(field: str, group: str) -> ErrorList:
    return invalid_for_each(field, group, dns_subdomain_errors(group))


def validate_segment(field: str, text: str) -> ErrorList:
    return invalid_for_each(field, text, path_segment_errors(text))


def validate_local_reference(field: str, reference: Obj) -> ErrorList:
    """To an object of the same namespace."""
    errors: ErrorList = []
    if reference.get("apiGroup") is not None:
        errors += validate_group(f"{field}.apiGroup", reference["apiGroup"])
    for name in ("kind", "name"):
        if text := reference.get(name):
            errors += validate_segment(f"{field}.{name}", text)
        else:
            errors.append(required(f"{field}.{name}", f"{name} is required"))
    return errors
