"""Change tracking: events go in, and out come the Services that need planning anew.

Holds the newest view of every Service and its slices; knows nothing of the kernel or of any proxy mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from fairway.api.objects import EndpointSlice, Service
from fairway.proxy.model import (
    HEADLESS_LABEL,
    PROXY_NAME_LABEL,
    SERVICE_NAME_LABEL,
    Endpoint,
    ServicePort,
    ServicePortName,
    service_ports,
    slice_endpoints,
)
from fairway.proxy.topology import Place, Pools, merge, pools


class PortState(msgspec.Struct, frozen=True, gc=False):
    """All that planning one Service port takes."""

    port: ServicePort
    pools: Pools
    known: int = 0
    """How many endpoints the port has, usable or not."""


class Tracker:
    """The newest state of all Services, and which of them have changed since `take` was last called."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._services: dict[str, Service] = {}
        self._slices: dict[str, dict[str, EndpointSlice]] = {}
        self._dirty: set[str] = set()

    def __len__(self) -> int:
        return len(self._services)

    @property
    def dirty(self) -> bool:
        return bool(self._dirty)

    def service_changed(self, key: str, old: Service | None, new: Service | None) -> None:
        if new is None:
            self._services.pop(key, None)
        else:
            self._services[key] = new
        self._dirty.add(key)

    def slice_changed(self, key: str, old: EndpointSlice | None, new: EndpointSlice | None) -> None:
        before, after = _service_of(old), _service_of(new)
        if before and before != after:
            self._forget_slice(before, key)
        if new is not None and after:
            self._slices.setdefault(after, {})[key] = new
            self._dirty.add(after)

    def move(self, place: Place) -> None:
        """The node's zone has become known or has changed: every choice may be another one."""
        if place != self.place:
            self.place = place
            self.all_changed()

    def all_changed(self) -> None:
        self._dirty.update(self._services)

    def take(self) -> dict[str, tuple[PortState, ...]]:
        """The state of each Service that has changed, without ports if it is gone; then all are clean."""
        dirty, self._dirty = self._dirty, set()
        return {key: self._state(key) for key in dirty}

    def _state(self, key: str) -> tuple[PortState, ...]:
        service = self._services.get(key)
        if service is None:
            return ()
        endpoints = _by_port(self._slices.get(key, {}).values())
        return tuple(self._port_state(port, endpoints) for port in service_ports(service))

    def _port_state(
        self, port: ServicePort, endpoints: Mapping[ServicePortName, Sequence[Endpoint]]
    ) -> PortState:
        merged = merge(endpoints.get(port.name, ()))
        return PortState(port, pools(port, merged, self.place), len(merged))

    def _forget_slice(self, service: str, key: str) -> None:
        slices = self._slices.get(service, {})
        slices.pop(key, None)
        if not slices:
            self._slices.pop(service, None)
        self._dirty.add(service)


def _by_port(slices: Iterable[EndpointSlice]) -> dict[ServicePortName, list[Endpoint]]:
    found: dict[ServicePortName, list[Endpoint]] = {}
    for view in slices:
        for name, endpoint in slice_endpoints(view):
            found.setdefault(name, []).append(endpoint)
    return found


def _service_of(view: EndpointSlice | None) -> str:
    """The Service a slice belongs to; empty for a slice that is not ours to look at."""
    labels = (view.metadata.labels if view else None) or {}
    name = labels.get(SERVICE_NAME_LABEL, "")
    if view is None or not name or PROXY_NAME_LABEL in labels or HEADLESS_LABEL in labels:
        return ""
    return f"{view.metadata.namespace}/{name}"
