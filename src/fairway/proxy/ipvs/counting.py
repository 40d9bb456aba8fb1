"""Connections and bytes by Service port, as the kernel counts them for each virtual server.

A server that is deleted and made anew, as when a Service has had no endpoint for a while, begins at nought;
what it counted between the last look and its end is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairway.kernel.ipvs import Ipvs
from fairway.metrics import Figure
from fairway.proxy.ipvs.frontends import Frontend
from fairway.proxy.ipvs.orders import frontend_of
from fairway.proxy.model import ServicePortName
from fairway.proxy.service_counts import Count, Reading, Totals, Traffic

Holders = Mapping[Frontend, ServicePortName]


class ServerCounts:
    """`count` is called from the thread that programs, what it returns from another."""

    def __init__(self, ipvs: Ipvs) -> None:
        self._ipvs = ipvs
        self._totals = Totals(bytes_too=True)

    def count(self, holders: Holders) -> Count:
        def counted() -> Iterator[Figure]:
            self._totals.observe_all(list(self._read(holders)))
            return self._totals.figures(frozenset(holders.values()))

        return counted

    def _read(self, holders: Holders) -> Iterator[Reading]:
        # What was opened before the kernel had IPVS must look for it again.
        self._ipvs.require()
        for server, passed in self._ipvs.passed().items():
            name = holders.get(frontend_of(server))
            if name is not None:
                yield Reading(server, name, Traffic(*passed))
