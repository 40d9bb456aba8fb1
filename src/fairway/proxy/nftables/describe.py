"""What is programmed for one Service, as text for people: which addresses lead where, and how busy they are.

Pure: the connections are asked of whoever calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fairway.proxy.description import (
    Connections,
    connections_now,
    document,
    endpoint_lines,
    frontend,
    heading,
    terms,
)
from fairway.proxy.model import Endpoint
from fairway.proxy.nftables.chains import Reach
from fairway.proxy.nftables.plan import PortPlan
from fairway.proxy.nftables.ruleset import TABLE
from fairway.proxy.settings import Settings


def describe(service: str, ports: Iterable[PortPlan], settings: Settings, connections: Connections) -> str:
    """Empty if nothing is programmed."""
    parts = (_port(part, settings, connections) for part in ports)
    return document(f"Service {service}, table {TABLE}", parts)


def _port(part: PortPlan, settings: Settings, connections: Connections) -> Iterator[str]:
    port, pools = part.state.port, part.state.pools
    yield heading(port)
    yield from frontend_lines(part, connections, lambda reach: _masquerading(reach, settings))
    yield from terms(port)
    yield from _endpoints("endpoints", pools.cluster)
    if port.uses_local_endpoints:
        yield from _endpoints("endpoints on this node", pools.local)
    if not pools.any:
        yield "  no endpoint is ready: clients are refused"


def frontend_lines(part: PortPlan, connections: Connections, remark: Callable[[Reach], str]) -> Iterator[str]:
    """Every address and port that is answered on, and where it leads."""
    port = part.state.port
    verdicts = {(element.set, element.key): element.value for element in part.plan.elements}
    for wanted, reach in part.reaches.items():
        yield f"  {frontend(port, wanted.address, wanted.port)}"
        if wanted in part.taken:
            yield f"    not programmed: {part.taken[wanted]} has this address and port"
            continue
        yield f"    {verdicts.get(('services', wanted.key), 'nothing')}{remark(reach)}"
        if inside := verdicts.get(("internal", wanted.key)):
            yield f"    for clients inside the cluster: {inside}"
        yield f"    {connections_now(port, wanted.address, wanted.port, connections)}"


def _endpoints(title: str, endpoints: tuple[Endpoint, ...]) -> Iterator[str]:
    yield f"  {title}: {len(endpoints)}"
    yield from endpoint_lines(endpoints)


def _masquerading(reach: Reach, settings: Settings) -> str:
    match reach:
        case Reach.EXTERNAL:
            return ", masqueraded"
        case Reach.CLUSTER if settings.masquerade_all:
            return ", masqueraded"
        case Reach.CLUSTER:
            return ", masqueraded for clients outside the cluster"
        case _:
            return ", clients keep their addresses"
