"""managedFields as a client may send them, or as they come to be: what the entries must look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fairway.api.validation.fields import ErrorList, invalid_value, too_long

LONGEST_MANAGER: Final = 128
LONGEST_SUBRESOURCE: Final = 256


def validate_managed_fields(
    entries: Sequence[Mapping[str, Any]] | None, field: str = "metadata.managedFields"
) -> ErrorList:
    errors: ErrorList = []
    for index, entry in enumerate(entries or ()):
        operation, fields_type = entry.get("operation", ""), entry.get("fieldsType", "")
        if operation not in ("Apply", "Update"):
            errors.append(
                invalid_value(f"{field}[{index}].operation", operation, "must be `Apply` or `Update`")
            )
        if fields_type not in ("", "FieldsV1"):
            errors.append(invalid_value(f"{field}[{index}].fieldsType", fields_type, "must be `FieldsV1`"))
        errors += validate_manager(f"{field}[{index}].manager", entry.get("manager", ""))
        if len(entry.get("subresource", "").encode()) > LONGEST_SUBRESOURCE:
            errors.append(too_long(f"{field}[{index}].subresource", LONGEST_SUBRESOURCE))
    return errors


def validate_manager(field: str, name: str) -> ErrorList:
    errors: ErrorList = []
    if len(name.encode()) > LONGEST_MANAGER:
        errors.append(too_long(field, LONGEST_MANAGER))
    if not name.isprintable():
        errors.append(invalid_value(field, name, "should only contain printable characters"))
    return errors
