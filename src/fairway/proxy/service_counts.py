"""What has been counted for each Service port: connections, and bytes where a mode can tell.

Counters of the kernel begin anew when a Service is programmed anew; the totals here don't. Reading counters
is the modes' work. The thread that programs and the one that counts may both come here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Set
from itertools import islice
from typing import NamedTuple

from fairway.metrics import Figure, Labels
from fairway.proxy.model import ServicePortName

_PREFIX = "fairway_proxy_service_"
_CONNECTIONS = "Connections to the Service that were led to an endpoint on this node's orders"
_BYTES = "Bytes from clients of the Service (in) and to them (out)"
# Readings that the thread that programs may have to wait for, in case it has some, too.
_AT_ONCE = 64


class Traffic(NamedTuple):
    connections: int = 0
    received: int = 0
    sent: int = 0

    def since(self, before: Traffic) -> Traffic:
        """A counter that is lower than it was has begun anew."""
        connections, received, sent = before
        if self.connections < connections or self.received < received or self.sent < sent:
            return self
        return Traffic(self.connections - connections, self.received - received, self.sent - sent)

    def plus(self, more: Traffic) -> Traffic:
        return Traffic(
            self.connections + more.connections, self.received + more.received, self.sent + more.sent
        )


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
        left, some = iter(readings), True
        while some:
            some = False
            with self._lock:
                for reading in islice(left, _AT_ONCE):
                    some = True
                    self._observe(*reading)

    def _observe(self, source: Hashable, name: ServicePortName, traffic: Traffic) -> None:
        before = self._seen.get(source, NONE)
        if traffic != before:
            self._seen[source] = traffic
            self._totals[name] = self._totals.get(name, NONE).plus(traffic.since(before))

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

    def figures(self, known: Set[ServicePortName]) -> Iterator[Figure]:
        """Of Service ports that there are; what was counted for others is dropped."""
        with self._lock:
            totals = dict(self._totals)
        gone = totals.keys() - known
        for name in gone:
            del totals[name]
            self._totals.pop(name, None)
        for labels, total in _of_both_families(totals).items():
            yield Figure(_PREFIX + "connections_total", total.connections, labels, "counter", _CONNECTIONS)
            if self._bytes_too:
                for direction, size in (("in", total.received), ("out", total.sent)):
                    way = (*labels, ("direction", direction))
                    yield Figure(_PREFIX + "bytes_total", size, way, "counter", _BYTES)


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
