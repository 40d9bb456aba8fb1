"""Connections and bytes by Service port, as the relay has counted them.

A listener that is closed and opened anew, as when a Service has had no endpoint for a while, begins at
nought; what it counted between the last look and its end is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairway.metrics import Figure
from fairway.proxy.service_counts import Count, Reading, Totals, Traffic
from fairway.proxy.userspace.messages import Counted
from fairway.proxy.userspace.plan import POOLS, States, key


class RelayCounts:
    """`count` is called from the thread that programs, what it returns from another."""

    def __init__(self) -> None:
        self._totals = Totals(bytes_too=True)

    def count(self, told: Sequence[Counted] | None, states: States) -> Count:
        """None is told where the relay could not be asked."""

        def counted() -> Iterator[Figure]:
            names = [state.port.name for ports in states.values() for state in ports]
            owners = {key(name, pool): name for name in names for pool in POOLS}
            if told is not None:
                readings = [Reading(k, owners[k], Traffic(*passed)) for k, *passed in told if k in owners]
                self._totals.observe_all(readings)
            return self._totals.figures(frozenset(names))

        return counted
