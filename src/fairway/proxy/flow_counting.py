"""How many connections use an address of a Service right now, for every proxy mode."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from fairway.kernel.conntrack import Conntrack
from fairway.proxy.model import Family, Protocol


@dataclass(frozen=True, slots=True)
class FlowCounter:
    conntrack: Conntrack
    local_addresses: Callable[[], Container[str]]

    def count(self, family: Family, protocol: Protocol, address: str, port: int) -> tuple[int, int]:
        """Flows to an address and port, and their bytes; a node port's address is unspecified."""
        version = 4 if family is Family.IPV4 else 6
        if address != family.unspecified:
            flows = self.conntrack.tracked(version, protocol, address, port)
        else:
            local = self.local_addresses()
            flows = [f for f in self.conntrack.tracked(version, protocol, "", port) if f.address in local]
        return len(flows), sum(flow.size for flow in flows)
