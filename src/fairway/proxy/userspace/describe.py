"""What is programmed for one Service, as text for people: the rules to the relay, its ports, and its turns.

Pure: the connections are asked of whoever calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fairway.proxy.changes import PortState
from fairway.proxy.description import Connections, document, endpoint_lines, heading, terms
from fairway.proxy.model import Endpoint
from fairway.proxy.nftables.describe import frontend_lines
from fairway.proxy.nftables.plan import PortPlan
from fairway.proxy.spelling import spell_address
from fairway.proxy.userspace.messages import Bound
from fairway.proxy.userspace.plan import key, relayed
from fairway.proxy.userspace.ruleset import TABLE


def describe(
    service: str,
    ports: Iterable[tuple[PortState, PortPlan]],
    bound: Mapping[str, Bound],
    connections: Connections,
) -> str:
    """Of each port what is known of it, and the rules with the relay in place of endpoints."""
    parts = (_port(state, rules, bound, connections) for state, rules in ports)
    return document(f"Service {service}, table {TABLE} and the relay", parts)


def _port(
    state: PortState, rules: PortPlan, bound: Mapping[str, Bound], connections: Connections
) -> Iterator[str]:
    port, pools = state.port, state.pools
    yield heading(port)
    yield from frontend_lines(rules, connections, lambda reach: "")
    yield from terms(port)
    if not relayed(port.name):
        yield f"  {port.name.protocol} is not relayed: clients are refused"
    elif not pools.any:
        yield "  no endpoint is ready: clients are refused"
    else:
        if port.uses_cluster_endpoints:
            yield from _relay("endpoints", bound.get(key(port.name, "cluster")), pools.cluster)
        if port.uses_local_endpoints:
            yield from _relay("endpoints on this node", bound.get(key(port.name, "local")), pools.local)
            if port.external_local:
                yield "  those on this node see clients from outside the cluster as they are"


def _relay(title: str, at: Bound | None, endpoints: tuple[Endpoint, ...]) -> Iterator[str]:
    if not endpoints:
        yield f"  {title}: 0"
        return
    where = "but the relay could open no port"
    if at is not None and at.port:
        where = f"relayed in turn from {spell_address(*at)}"
    yield f"  {title}: {len(endpoints)}, {where}"
    yield from endpoint_lines(endpoints)
