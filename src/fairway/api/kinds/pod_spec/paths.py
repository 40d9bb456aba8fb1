"""Paths in fields: which may lead where, and which octal modes files may have."""

from __future__ import annotations

from typing import Final

from fairway.api.validation.fields import ErrorList, invalid_value

BACKSTEP: Final = "must not contain '..'"
FILE_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"


def validate_no_backsteps(field: str, path: str) -> ErrorList:
    return [invalid_value(field, path, BACKSTEP)] if ".." in path.split("/") else []


def validate_descending(field: str, path: str) -> ErrorList:
    """Relative, and never upwards."""
    errors = [invalid_value(field, path, "must be a relative path")] if path.startswith("/") else []
    return errors + validate_no_backsteps(field, path)


def validate_not_reserved(field: str, path: str) -> ErrorList:
    """The same, and no name of the kind that atomic writers keep for themselves."""
    errors = validate_descending(field, path)
    if path.startswith("..") and not path.startswith("../"):
        errors.append(invalid_value(field, path, "must not start with '..'"))
    return errors


def validate_file_mode(field: str, mode: int | None) -> ErrorList:
    return [invalid_value(field, mode, FILE_MODE)] if mode is not None and not 0 <= mode <= 0o777 else []
