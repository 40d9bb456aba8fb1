"""events.k8s.io/v1 Events: the same objects as core Events, under newer names and stricter rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fairway.api.kind import Face, Kind, Obj
from fairway.api.kinds import event as core
from fairway.api.kinds.event import EVENT
from fairway.api.resources import EVENTS, EVENTS_V1
from fairway.api.schema.conform import conform
from fairway.api.schema.shape import shape_of
from fairway.api.validation.fields import ErrorList, invalid_value, required
from fairway.api.validation.values import validate_immutable

# core/v1 → events.k8s.io/v1
NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
CORE_NAMES: Final = {new: old for old, new in NAMES.items()}
FIXED: Final = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
)


def _renamed(obj: Obj, names: dict[str, str], api_version: str) -> Obj:
    renamed = {names.get(name, name): value for name, value in obj.items()}
    return conform(renamed, shape_of(api_version, "Event"))[0]


def outward(event: Obj) -> Obj:
    return _renamed(event, NAMES, EVENTS_V1.api_version)


def inward(event: Obj) -> Obj:
    return _renamed(event, CORE_NAMES, EVENTS.api_version)


def _validate_as_core(event: Obj) -> ErrorList:
    """The rules of core Events; a complaint about the reporter names it as this group does."""
    named = {"reportingComponent": "reportingController"}
    return [replace(error, field=named.get(error.field, error.field)) for error in core.validate(event)]


def _validate_series(event: Obj) -> ErrorList:
    series = event.get("series")
    if series is None:
        return []
    errors: ErrorList = []
    if series.get("count", 0) < 2:
        errors.append(invalid_value("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(required("series.lastObservedTime"))
    return errors


def validate(event: Obj) -> ErrorList:
    errors = _validate_as_core(event) + _validate_series(event)
    if not event.get("eventTime"):
        errors.append(required("eventTime"))
    if event.get("type") not in ("Normal", "Warning"):
        errors.append(invalid_value("type", "", f"has invalid value: {event.get('type', '')}"))
    for name in ("firstTimestamp", "lastTimestamp", "count"):
        if event.get(name):
            errors.append(invalid_value(name, "", "needs to be unset"))
    if any((event.get("source") or {}).values()):
        errors.append(invalid_value("source", "", "needs to be unset"))
    return errors


def validate_update(new: Obj, old: Obj) -> ErrorList:
    """Only the series goes on."""
    errors = _validate_as_core(new)
    if new.get("series") != old.get("series"):
        errors += _validate_series(new)
    for name in FIXED:
        errors += validate_immutable(name, new.get(name), old.get(name))
    errors += validate_immutable(
        "reportingController", new.get("reportingComponent"), old.get("reportingComponent")
    )
    return errors + validate_immutable(
        "reportingInstance", new.get("reportingInstance"), old.get("reportingInstance")
    )


def _selectable() -> dict[str, Any]:
    about = {
        f"regarding.{name}": EVENT.fields[f"involvedObject.{name}"]
        for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    }
    reporter = EVENT.fields["reportingComponent"]
    return {
        **about,
        "reason": EVENT.fields["reason"],
        "reportingController": reporter,
        "type": EVENT.fields["type"],
    }


EVENT_V1 = Kind(
    EVENTS_V1,
    default=EVENT.default,
    validate=validate,
    validate_update=validate_update,
    fields=_selectable(),
    name_errors=EVENT.name_errors,
    create_on_update=EVENT.create_on_update,
    unconditional_update=EVENT.unconditional_update,
    dependents="",
    face=Face(EVENTS, outward, inward),
)
