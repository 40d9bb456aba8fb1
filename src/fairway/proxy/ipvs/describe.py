"""What is programmed for one Service, as text for people: virtual servers as `ipvsadm -ln` shows them.

Pure: the connections are asked of whoever calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairway.proxy.description import Connections, connections_now, document, frontend, heading, terms
from fairway.proxy.ipvs.frontends import Frontend, Server
from fairway.proxy.model import ServicePort
from fairway.proxy.spelling import spell_address

Servers = Iterable[tuple[Frontend, Server | None]]


def describe(
    service: str, device: str, ports: Iterable[tuple[ServicePort, Servers]], connections: Connections
) -> str:
    """Of each port the servers that are in force for it; None where another Service has the address."""
    parts = (_port(port, servers, connections) for port, servers in ports)
    return document(f"Service {service}, virtual servers of IPVS; {device} holds its addresses", parts)


def _port(port: ServicePort, servers: Servers, connections: Connections) -> Iterator[str]:
    yield heading(port)
    for known, server in servers:
        if known.mark:
            yield f"  clients inside the cluster, by the mark {known.mark:#x}, whatever the policy"
        else:
            now = connections_now(port, known.address, known.port, connections)
            yield f"  {frontend(port, known.address, known.port)}, {now}"
        yield from _server(known, server)
    yield from terms(port)


def _server(known: Frontend, server: Server | None) -> Iterator[str]:
    if server is None:
        yield "    another Service has this address and port"
    elif not server.targets:
        yield "    no endpoint is ready: rules refuse clients, or drop them by policy Local"
    else:
        where = f"FWM  {known.mark}" if known.mark else f"{known.protocol.upper()}  {_where(known)}"
        tie = f" persistent {server.persistence}" if server.persistence else ""
        yield f"    {where} {server.scheduler}{tie}"
        yield from (f"      -> {spell_address(*target)}  Masq" for target in server.targets)


def _where(known: Frontend) -> str:
    return spell_address(known.address, known.port)
