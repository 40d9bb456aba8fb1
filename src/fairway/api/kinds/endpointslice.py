"""EndpointSlices: the addresses behind a Service, a hundred at a time."""

from __future__ import annotations

from fairway.api.kind import Kind, Obj
from fairway.api.resources import ENDPOINT_SLICES


def default(endpoint_slice: Obj) -> None:
    for port in endpoint_slice.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


ENDPOINT_SLICE = Kind(ENDPOINT_SLICES, default=default, generation=True)
