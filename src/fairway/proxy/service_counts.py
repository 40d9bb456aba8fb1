"""What has been counted for each Service port: connections, and bytes where a mode can tell.

Counters of the kernel begin anew when a Service is programmed anew; the totals here don't. Reading counters
is the modes' work. The thread that programs and the one that counts may both come here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import NamedTuple

from fairway.metrics import Figure, Labels
from fairway.proxy.model import ServicePortName

_CONNECTIONS = "Connections to the Service that were led to an endpoint on this node's orders"
_BYTES = "Bytes from clients of the Service (in) and to them (out)"


class Traffic(NamedTuple):
    connections: int = 0
    received: int = 0
    sent: int = 0

    def since(self, before: Traffic) -> Traffic:
        """A counter that is lower than it was has begun anew."""
        if any(now < then for now, then in zip(self, before, strict=True)):
            return self
        return Traffic(*(now - then for now, then in zip(self, before, strict=True)))

    def plus(self, more: Traffic) -> Traffic:
        return Traffic(*(one + other for one, other in zip(self, more, strict=True)))


NONE = Traffic()


class Reading(NamedTuple):
    """What one counter of the kernel or the relay says. `source` is what tells it from all others."""

    source: Hashable
    name: ServicePortName
    traffic: Traffic


Count = Callable[[], Iterable[Figure]]
"""Reads counters and makes figures, beside all that is being programmed."""


class Totals:
    """Of one mode. `bytes_too` if it counts those."""

    def __init__(self, bytes_too: bool = False) -> None:
        self._bytes_too = bytes_too
        self._lock = threading.Lock()
        self._seen: dict[Hashable, Traffic] = {}
        self._totals: dict[ServicePortName, Traffic] = {}

    def observe(self, readings: Iterable[Reading]) -> None:
        """Counters that aren't among these are as they were."""
        with self._lock:
            for source, name, traffic in readings:
                more = traffic.since(self._seen.get(source, NONE))
                self._seen[source] = traffic
                if any(more):
                    self._totals[name] = self._totals.get(name, NONE).plus(more)

    def observe_all(self, readings: Collection[Reading]) -> None:
        """Counters that aren't among these are gone."""
        self.observe(readings)
        present = {reading.source for reading in readings}
        self.forget([source for source in self._seen if source not in present])

    def forget(self, sources: Iterable[Hashable]) -> None:
        """These are gone; whatever has their names later begins at nought."""
        with self._lock:
            for source in sources:
                self._seen.pop(source, None)

    def figures(self, known: Collection[ServicePortName]) -> Iterator[Figure]:
        """Of Service ports that there are; what was counted for others is dropped."""
        with self._lock:
            self._totals = {name: total for name, total in self._totals.items() if name in known}
            both = _of_both_families(self._totals)
        for labels, total in both.items():
            name = "fairway_proxy_service_connections_total"
            yield Figure(name, total.connections, labels, "counter", _CONNECTIONS)
            if self._bytes_too:
                for direction, size in (("in", total.received), ("out", total.sent)):
                    way = (*labels, ("direction", direction))
                    yield Figure("fairway_proxy_service_bytes_total", size, way, "counter", _BYTES)


def _of_both_families(totals: dict[ServicePortName, Traffic]) -> dict[Labels, Traffic]:
    found: dict[Labels, Traffic] = {}
    for name, total in totals.items():
        labels = (
            ("namespace", name.namespace),
            ("service", name.name),
            ("port_name", name.port),
            ("protocol", name.protocol.upper()),
        )
        found[labels] = found.get(labels, NONE).plus(total)
    return found
