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
        is_node_port = address == family.unspecified
        flows = self.conntrack.tracked(family.version, protocol, "" if is_node_port else address, port)
        if is_node_port:
            local = self.local_addresses()
            flows = [flow for flow in flows if flow.address in local]
        return len(flows), sum(flow.size for flow in flows)
