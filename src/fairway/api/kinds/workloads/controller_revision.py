"""ControllerRevisions: templates of the past, for DaemonSets and StatefulSets."""

from __future__ import annotations

from fairway.api.kind import Kind, Obj
from fairway.api.resources import CONTROLLER_REVISIONS
from fairway.api.validation.fields import ErrorList, invalid_value, required
from fairway.api.validation.values import IMMUTABLE, validate_non_negative


def validate_number(revision: Obj) -> ErrorList:
    return validate_non_negative("revision", revision.get("revision") or 0)


def validate(revision: Obj) -> ErrorList:
    errors = validate_number(revision)
    data = revision.get("data")
    if data is None:
        errors.append(required("data", "data is mandatory"))
    elif not isinstance(data, dict):
        errors.append(required("data", "data must be a valid JSON object"))
    return errors


def validate_update(new: Obj, old: Obj) -> ErrorList:
    errors = validate_number(new)
    if new.get("data") != old.get("data"):
        errors.append(invalid_value("data", new.get("data"), IMMUTABLE))
    return errors


CONTROLLER_REVISION = Kind(CONTROLLER_REVISIONS, validate=validate, validate_update=validate_update)
