"""What is programmed for one Service, as text for people: which addresses lead where, and how busy they are.

Pure: the connections are asked of whoever calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fairway.proxy.model import Endpoint, Family, ServicePort
from fairway.proxy.nftables.chains import Reach
from fairway.proxy.nftables.elements import Frontend
from fairway.proxy.nftables.plan import PortPlan
from fairway.proxy.nftables.ruleset import TABLE
from fairway.proxy.settings import Settings

Connections = Callable[[Frontend], tuple[int, int]]
"""How many connections are tracked to a frontend, and their bytes where the kernel counts them."""


def describe(service: str, ports: Iterable[PortPlan], settings: Settings, connections: Connections) -> str:
    """Empty if nothing is programmed."""
    parts = list(ports)
    if not parts:
        return ""
    lines = [f"Service {service}, table {TABLE}"]
    for part in parts:
        lines += ["", *_port(part, settings, connections)]
    return "\n".join(lines) + "\n"


def _port(part: PortPlan, settings: Settings, connections: Connections) -> Iterator[str]:
    port = part.state.port
    family = "IPv6" if port.name.family is Family.IPV6 else "IPv4"
    name = f"port {port.name.port}, " if port.name.port else ""
    yield f"{name}{port.name.protocol} {port.port}, {family}"
    verdicts = {(element.set, element.key): element.value for element in part.plan.elements}
    for frontend, reach in part.reaches.items():
        yield f"  {_kind(port, frontend)} {_spelled(frontend)}"
        if frontend in part.taken:
            yield f"    not programmed: {part.taken[frontend]} has this address and port"
            continue
        yield f"    {verdicts.get(('services', frontend.key), 'nothing')}{_masquerading(reach, settings)}"
        if inside := verdicts.get(("internal", frontend.key)):
            yield f"    for clients inside the cluster: {inside}"
        count, size = connections(frontend)
        yield f"    connections now: {count}{f', {size} bytes' if size else ''}"
    if port.source_ranges is not None:
        yield f"  load balancer addresses are open to: {', '.join(port.source_ranges) or 'nobody'}"
    if port.affinity_seconds:
        yield f"  clients stay with their endpoint for {port.affinity_seconds} s"
    yield from _endpoints("endpoints", part.state.pools.cluster)
    if port.uses_local_endpoints:
        yield from _endpoints("endpoints on this node", part.state.pools.local)
    if not part.state.pools.any:
        yield "  no endpoint is ready: clients are refused"


def _endpoints(title: str, endpoints: Iterable[Endpoint]) -> Iterator[str]:
    known = list(endpoints)
    yield f"  {title}: {len(known)}"
    for endpoint in known:
        where = f"[{endpoint.ip}]" if ":" in endpoint.ip else endpoint.ip
        going = ", terminating" if endpoint.terminating else ""
        yield f"    {where}:{endpoint.port}{f' on {endpoint.node}' if endpoint.node else ''}{going}"


def _kind(port: ServicePort, frontend: Frontend) -> str:
    if frontend.address == frontend.family.unspecified:
        return "node port"
    if frontend.address == port.cluster_ip:
        return "cluster IP"
    return "load balancer IP" if frontend.address in port.load_balancer_ips else "external IP"


def _spelled(frontend: Frontend) -> str:
    if frontend.address == frontend.family.unspecified:
        return str(frontend.port)
    return (
        f"[{frontend.address}]:{frontend.port}"
        if ":" in frontend.address
        else f"{frontend.address}:{frontend.port}"
    )


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
