"""Deletes UDP flows that lead where they no longer should, for every proxy mode.

Which flows those are is decided in `stale_flows`; here they are looked for and deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field

import structlog

from fairway.kernel.conntrack import Conntrack
from fairway.metrics import Figure
from fairway.proxy.model import Family
from fairway.proxy.settings import in_family
from fairway.proxy.stale_flows import Expectation, stale

log = structlog.get_logger()

# Up to here one question for each frontend is cheaper than reading every flow.
_FEW = 8


@dataclass(frozen=True, slots=True)
class FlowCleaner:
    conntrack: Conntrack
    local_addresses: Callable[[], Container[str]]
    deleted: Counter[Family] = field(default_factory=Counter)

    def clean(self, expectations: Iterable[Expectation], ranges: tuple[str, ...] = ()) -> None:
        """Delete stale UDP flows. The new rules must be in force, so that none can come back."""
        every = tuple(expectations)
        for family in Family:
            mine = [expected for expected in every if expected.family is family]
            if mine or in_family(ranges, family):
                self._clean_family(family, mine, in_family(ranges, family))

    def _clean_family(self, family: Family, mine: list[Expectation], ranges: tuple[str, ...]) -> None:
        version = family.version
        if ranges or len(mine) > _FEW:
            flows = self.conntrack.udp_flows(version)
        else:
            asked = {("" if e.is_node_port else e.address, e.port) for e in mine}
            flows = [flow for key in asked for flow in self.conntrack.udp_flows(version, *key)]
        gone = stale(flows, mine, self.local_addresses(), ranges)
        for flow in gone:
            self.conntrack.delete(version, flow)
        self.deleted[family] += len(gone)
        if gone:
            log.info("deleted stale flows", protocol="udp", family=str(family), flows=len(gone))

    def figures(self) -> Iterator[Figure]:
        """For /metrics."""
        for family in Family:
            about = "Stale entries of connection tracking that were deleted"
            name = "kubeproxy_conntrack_reconciler_deleted_entries_total"
            yield Figure(
                name, self.deleted[family], (("ip_family", f"IPv{family.version}"),), "counter", about
            )
