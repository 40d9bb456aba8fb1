"""Events: what happened to an object, for people to read."""

from __future__ import annotations

from fairway.api.kind import Kind, Obj
from fairway.api.resources import EVENTS


def _text(event: Obj, *path: str) -> str:
    value: object = event
    for part in path:
        value = value.get(part, "") if isinstance(value, dict) else ""
    return str(value)


EVENT = Kind(
    EVENTS,
    create_on_update=True,
    fields={
        "involvedObject.kind": lambda e: _text(e, "involvedObject", "kind"),
        "involvedObject.namespace": lambda e: _text(e, "involvedObject", "namespace"),
        "involvedObject.name": lambda e: _text(e, "involvedObject", "name"),
        "involvedObject.uid": lambda e: _text(e, "involvedObject", "uid"),
        "involvedObject.apiVersion": lambda e: _text(e, "involvedObject", "apiVersion"),
        "involvedObject.resourceVersion": lambda e: _text(e, "involvedObject", "resourceVersion"),
        "involvedObject.fieldPath": lambda e: _text(e, "involvedObject", "fieldPath"),
        "reason": lambda e: _text(e, "reason"),
        "reportingComponent": lambda e: _text(e, "reportingComponent") or _text(e, "source", "component"),
        "source": lambda e: _text(e, "source", "component") or _text(e, "reportingComponent"),
        "type": lambda e: _text(e, "type"),
    },
)
