"""Which UDP flows lead where they no longer should.

UDP has no end of a connection: the kernel would send a busy flow to a dead endpoint for ever. This compares
the flows that exist with where they may lead now, so it is also right after a time in which nobody watched.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from fairway.proxy.model import Family


class Flow(Protocol):
    """As conntrack has it: where the client sends to, and who answers."""

    @property
    def address(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def answering(self) -> str: ...
    @property
    def answering_port(self) -> int: ...


F = TypeVar("F", bound=Flow)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The endpoints that flows to an address and port may lead to; a node port's address is unspecified."""

    family: Family
    address: str
    port: int
    targets: frozenset[tuple[str, int]]

    @property
    def is_node_port(self) -> bool:
        return self.address == self.family.unspecified


def stale(
    flows: Iterable[F],
    expectations: Iterable[Expectation],
    local: Container[str],
    service_ranges: Iterable[str] = (),
) -> list[F]:
    """The flows to delete. In a service range, also those to addresses that no Service has any more."""
    allowed: dict[tuple[str, int], frozenset[tuple[str, int]]] = {}
    for expected in expectations:
        key = ("" if expected.is_node_port else expected.address, expected.port)
        # A frontend that moves from one Service to another is expected by both.
        allowed[key] = allowed.get(key, frozenset()) | expected.targets
    networks = [ipaddress.ip_network(text) for text in service_ranges]

    def is_stale(flow: F) -> bool:
        targets = allowed.get((flow.address, flow.port))
        if targets is None and flow.address in local:
            targets = allowed.get(("", flow.port))
        if targets is None:
            return any(ipaddress.ip_address(flow.address) in network for network in networks)
        return (flow.answering, flow.answering_port) not in targets

    return [flow for flow in flows if is_stale(flow)]
