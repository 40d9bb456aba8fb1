"""Words that every mode uses when it describes what is programmed for a Service.

Pure. What a mode has of its own to say is in its `describe`; the connections are asked of whoever calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fairway.proxy.model import Endpoint, Family, Protocol, ServicePort
from fairway.proxy.spelling import spell_address

Connections = Callable[[Family, Protocol, str, int], tuple[int, int]]
"""How many connections are tracked to an address and port, and their bytes where the kernel counts them."""


def document(title: str, ports: Iterable[Iterable[str]]) -> str:
    """A part for each Service port; empty if there is none."""
    lines = [line for part in ports for line in ("", *part)]
    return "\n".join([title, *lines, ""]) if lines else ""


def heading(port: ServicePort) -> str:
    name = f"port {port.name.port}, " if port.name.port else ""
    return f"{name}{port.name.protocol} {port.port}, IPv{port.name.family.version}"


def frontend(port: ServicePort, address: str, number: int) -> str:
    """`cluster IP 10.96.0.80:80`; a node port's address is unspecified."""
    if address == port.name.family.unspecified:
        return f"node port {number}"
    if address == port.cluster_ip:
        return f"cluster IP {spell_address(address, number)}"
    kind = "load balancer IP" if address in port.load_balancer_ips else "external IP"
    return f"{kind} {spell_address(address, number)}"


def connections_now(port: ServicePort, address: str, number: int, connections: Connections) -> str:
    count, size = connections(port.name.family, port.name.protocol, address, number)
    return f"connections now: {count}{f', {size} bytes' if size else ''}"


def terms(port: ServicePort) -> Iterator[str]:
    """Who may come, and who comes back to the same endpoint."""
    if port.source_ranges is not None:
        yield f"  load balancer addresses are open to: {', '.join(port.source_ranges) or 'nobody'}"
    if port.affinity_seconds:
        yield f"  clients stay with their endpoint for {port.affinity_seconds} s"


def endpoint_lines(endpoints: Iterable[Endpoint]) -> Iterator[str]:
    for endpoint in endpoints:
        going = ", terminating" if endpoint.terminating else ""
        where = f" on {endpoint.node}" if endpoint.node else ""
        yield f"    {spell_address(endpoint.ip, endpoint.port)}{where}{going}"
