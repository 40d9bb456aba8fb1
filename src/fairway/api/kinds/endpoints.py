"""Endpoints: the addresses behind a Service, in the form of old."""

from __future__ import annotations

from fairway.api.kind import Kind, Obj
from fairway.api.resources import ENDPOINTS as RESOURCE


def default(endpoints: Obj) -> None:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


ENDPOINTS = Kind(RESOURCE, default=default, create_on_update=True)
