"""The rules of one Service in the order in which they are passed, with a few words on what they do.

Pure: the connections are asked of whoever calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairway.proxy.changes import PortState
from fairway.proxy.description import Connections, connections_now, document, frontend, heading, terms
from fairway.proxy.iptables.port_rules import PortPlan, frontends


def describe(
    service: str, ports: Iterable[tuple[PortState, PortPlan]], classic: bool, connections: Connections
) -> str:
    """Empty if nothing is programmed."""
    parts = (_port(state, plan, classic, connections) for state, plan in ports)
    return document(f"Service {service}, as iptables-save shows it", parts)


def _port(state: PortState, plan: PortPlan, classic: bool, connections: Connections) -> Iterator[str]:
    port = state.port
    yield heading(port)
    for address, number in dict.fromkeys(frontends(port)):
        now = connections_now(port, address, number, connections)
        yield f"  {frontend(port, address, number)}, {now}"
    yield from terms(port)
    yield from _choices(state, classic)
    for table in ("nat", "filter"):
        rules = list(_rules(plan, table))
        if rules:
            yield f"*{table}"
            yield from rules


def _choices(state: PortState, classic: bool) -> Iterator[str]:
    port, pools = state.port, state.pools
    if not pools.any:
        yield f"  no endpoint is ready: clients are {'dropped' if classic else 'refused'}"
        return
    if port.uses_cluster_endpoints:
        yield f"  endpoints: {len(pools.cluster)}{_by('KUBE-SVC', len(pools.cluster))}"
    if port.uses_local_endpoints:
        count = len(pools.local)
        without = ", so what policy Local keeps here is dropped"
        yield f"  endpoints on this node: {count}{_by('KUBE-SVL', count) or without}"


def _by(chain: str, endpoints: int) -> str:
    """How one of them is chosen."""
    if not endpoints:
        return ""
    alike = ", each as likely as another" if endpoints > 1 else ""
    return f", chosen by {chain}{alike}"


def _rules(plan: PortPlan, table: str) -> Iterator[str]:
    """From the chains that all Services share to those of single endpoints."""
    for spot, rules in plan.shared:
        if spot.table == table:
            yield from (f"-A {spot.chain} {rule}" for rule in rules)
    if table == "nat":
        for chain, rules in plan.chains:
            yield from (f"-A {chain} {rule}" for rule in rules)
