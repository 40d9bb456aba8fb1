"""Rows of Events. Both groups that serve them, core and events.k8s.io, show the same columns.

They are one kind with two spellings: the newer group renames the older one's fields.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from fairway.api.tables.column import NAME, WIDE, Printer, Printers, documented
from fairway.api.tables.durations import moment, since
from fairway.api.tables.reading import Object, at, mapping, name_of, number, text

CORE_SPELLING: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}


def event_cells(event: Object, now: datetime) -> list[Any]:
    about = mapping(event, "involvedObject")
    return [
        since(last_seen(event), now),
        text(event, "type"),
        text(event, "reason"),
        "/".join(filter(None, (text(about, "kind").lower(), text(about, "name")))),
        text(about, "fieldPath"),
        reporter(event),
        text(event, "message").strip(),
        since(first_seen(event), now),
        occurrences(event),
        name_of(event),
    ]


def last_seen(event: Object) -> datetime | None:
    """A series says when it was last observed, whatever the Event itself says."""
    if at(event, "series") is not None:
        return moment(event, "series", "lastObservedTime")
    return moment(event, "lastTimestamp") or first_seen(event)


def first_seen(event: Object) -> datetime | None:
    return moment(event, "firstTimestamp") or moment(event, "eventTime")


def occurrences(event: Object) -> int:
    """Events of the newer kind that happened once carry no count."""
    if at(event, "series") is not None:
        return number(event, "series", "count")
    return number(event, "count") or 1


def reporter(event: Object) -> str:
    """`kubelet, node-1`: the component and, if known, which one of several."""
    component = text(event, "source", "component") or text(event, "reportingComponent")
    instance = text(event, "source", "host") or text(event, "reportingInstance")
    return f"{component}, {instance}" if instance else component


def renamed_event_cells(event: Object, now: datetime) -> list[Any]:
    """For events.k8s.io."""
    return event_cells({CORE_SPELLING.get(field, field): value for field, value in event.items()}, now)


COLUMNS: Final = (
    documented("Last Seen", "Event.lastTimestamp"),
    documented("Type", "Event.type"),
    documented("Reason", "Event.reason"),
    documented("Object", "Event.involvedObject"),
    documented("Subobject", "ObjectReference.fieldPath", priority=WIDE),
    documented("Source", "Event.source", priority=WIDE),
    documented("Message", "Event.message"),
    documented("First Seen", "Event.firstTimestamp", priority=WIDE),
    documented("Count", "Event.count", priority=WIDE),
    documented("Name", "ObjectMeta.name", priority=WIDE, value_format=NAME.format),
)

PRINTERS: Final[Printers] = {
    ("", "Event"): Printer(COLUMNS, event_cells),
    ("events.k8s.io", "Event"): Printer(COLUMNS, renamed_event_cells),
}
