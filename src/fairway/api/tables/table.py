"""Tables: what the server answers to `Accept: application/json;as=Table;v=v1;g=meta.k8s.io`.

This module finds the printer of a kind and puts rows together; what is in a cell is decided in the modules of
the kinds. Lists, single objects and the events of a watch all become the same kind of document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from fairway.api.resources import Resource
from fairway.api.tables import apps, core, events, networking, pods, policy, services
from fairway.api.tables.column import NAME, Column, Printer, Printers, documented
from fairway.api.tables.durations import moment
from fairway.api.tables.reading import Object, mapping, name_of

IncludeObject = Literal["Metadata", "Object", "None"]

PRINTERS: Final[Printers] = {
    **core.PRINTERS,
    **services.PRINTERS,
    **pods.PRINTERS,
    **events.PRINTERS,
    **apps.PRINTERS,
    **networking.PRINTERS,
    **policy.PRINTERS,
}

ZERO_TIME: Final = datetime(1, 1, 1, tzinfo=UTC)


def default_cells(obj: Object, now: datetime) -> list[Any]:
    created = moment(obj, "metadata", "creationTimestamp") or ZERO_TIME
    return [name_of(obj), f"{created.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"]


DEFAULT: Final = Printer(
    (NAME, documented("Created At", "ObjectMeta.creationTimestamp", value_type="date")), default_cells
)


def printer_of(resource: Resource) -> Printer:
    return PRINTERS.get((resource.group, resource.kind), DEFAULT)


def columns_of(resource: Resource) -> tuple[Column, ...]:
    return printer_of(resource).columns


def row_cells(resource: Resource, obj: Object, now: datetime) -> list[Any]:
    return printer_of(resource).cells(obj, now)


def table(
    resource: Resource,
    objs: Iterable[Object],
    now: datetime,
    *,
    resource_version: str,
    continue_token: str | None = None,
    remaining: int | None = None,
    include_object: IncludeObject = "Metadata",
    no_headers: bool = False,
    version: str = "v1",
) -> dict[str, Any]:
    """A Table of the objects, in their order. `resource_version` is the list's, or a single object's own."""
    metadata: dict[str, Any] = {"resourceVersion": resource_version}
    if continue_token:
        metadata["continue"] = continue_token
    if remaining is not None:
        metadata["remainingItemCount"] = remaining
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
        "columnDefinitions": None if no_headers else [c.definition() for c in columns_of(resource)],
        "rows": [_row(resource, obj, now, include_object, version) for obj in objs],
    }


def _row(
    resource: Resource, obj: Object, now: datetime, include_object: IncludeObject, version: str
) -> dict[str, Any]:
    printer = printer_of(resource)
    row: dict[str, Any] = {"cells": printer.cells(obj, now)}
    conditions = printer.conditions(obj) if printer.conditions else []
    if conditions:
        row["conditions"] = conditions
    row["object"] = _included(resource, obj, include_object, version)
    return row


def _included(
    resource: Resource, obj: Object, include_object: IncludeObject, version: str
) -> dict[str, Any] | None:
    if include_object == "None":
        return None
    if include_object == "Object":
        return {**obj, "kind": resource.kind, "apiVersion": resource.api_version}
    return partial_object_metadata(resource, obj, version)


def partial_object_metadata(resource: Resource, obj: Object, version: str = "v1") -> dict[str, Any]:
    """The object reduced to its metadata, as `as=PartialObjectMetadata` asks for it, too."""
    metadata = dict(mapping(obj, "metadata"))
    hidden = printer_of(resource).hidden_annotations
    if hidden and "annotations" in metadata:
        shown = _without(metadata.pop("annotations") or {}, hidden)
        if shown:
            metadata["annotations"] = shown
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
    }


def _without(annotations: Mapping[str, str], hidden: frozenset[str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if key not in hidden}


class TableStream:
    """The Tables of one watch: one row each, and column definitions in the first only."""

    def __init__(
        self, resource: Resource, include_object: IncludeObject = "Metadata", version: str = "v1"
    ) -> None:
        self._resource = resource
        self._include_object: IncludeObject = include_object
        self._version = version
        self._headers_sent = False

    def table(self, obj: Object, now: datetime) -> dict[str, Any]:
        no_headers, self._headers_sent = self._headers_sent, True
        return table(
            self._resource,
            [obj],
            now,
            resource_version=str(mapping(obj, "metadata").get("resourceVersion", "")),
            include_object=self._include_object,
            no_headers=no_headers,
            version=self._version,
        )
