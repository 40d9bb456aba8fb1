"""What one Service port is in IPVS: a virtual server for each address it answers on, and its places in sets.

Pure functions of one Service port. Which of several Services gets an address, and the difference to what was
planned before, are in `plan`.
"""

from __future__ import annotations

import enum
import ipaddress
from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec

from fairway.proxy.changes import PortState
from fairway.proxy.ipvs import sets
from fairway.proxy.ipvs.sets import Member
from fairway.proxy.model import Endpoint, Family, Protocol, ServicePort
from fairway.proxy.settings import Settings, in_family
from fairway.proxy.topology import Pools

# Makes the scheduler mh tell a client's connections apart, as kube-proxy has it.
_HASH_PORTS = 0x10


class Reach(enum.Enum):
    """By which kind of address a Service port is reached."""

    CLUSTER_IP = enum.auto()
    LOAD_BALANCER = enum.auto()
    EXTERNAL_IP = enum.auto()
    NODE_PORT = enum.auto()
    INTERNAL = enum.auto()
    """Any address that policy Local applies to, for clients inside the cluster: told by a packet's mark."""


class Frontend(NamedTuple):
    """What a virtual server is known by; one for marked packets has nothing but the mark."""

    family: Family
    protocol: str
    address: str
    port: int
    mark: int = 0


class Server(msgspec.Struct, frozen=True, gc=False):
    """A virtual server and the endpoints behind it."""

    scheduler: str
    persistence: int = 0
    flags: int = 0
    targets: tuple[tuple[str, int], ...] = ()
    graceful: bool = True
    """Whether an endpoint that goes keeps its connections. Datagrams would keep a dead one busy for ever."""


class FrontendPlan(msgspec.Struct, frozen=True):
    server: Server
    held: str = ""
    """The address that the dummy device must hold for it."""
    members: tuple[Member, ...] = ()


class Surroundings(NamedTuple):
    """What planning depends on besides Services."""

    settings: Settings
    node: str
    addresses: frozenset[str] = frozenset()
    """The node's own addresses, those of the dummy device left out."""


def frontends(port: ServicePort, around: Surroundings, mark: int) -> dict[Frontend, Reach]:
    """Where the port is reached; the first kinds count where an address is of two kinds."""
    family, protocol = port.name.family, port.name.protocol
    found = {Frontend(family, protocol, port.cluster_ip, port.port): Reach.CLUSTER_IP}
    for address in port.load_balancer_ips:
        found.setdefault(Frontend(family, protocol, address, port.port), Reach.LOAD_BALANCER)
    for address in port.external_ips:
        found.setdefault(Frontend(family, protocol, address, port.port), Reach.EXTERNAL_IP)
    if port.node_port:
        for address in node_port_addresses(family, around):
            found.setdefault(Frontend(family, protocol, address, port.node_port), Reach.NODE_PORT)
    if mark:
        found[Frontend(family, "", "", 0, mark)] = Reach.INTERNAL
    return found


def needs_mark(port: ServicePort) -> bool:
    return port.external_local and port.external


def node_port_addresses(family: Family, around: Surroundings) -> list[str]:
    """The node's addresses that serve node ports. Replies from a loopback address could not be routed."""
    ranges = [ipaddress.ip_network(text) for text in in_family(around.settings.nodeport_addresses, family)]
    if around.settings.nodeport_addresses and not ranges:
        return []
    version = 4 if family is Family.IPV4 else 6
    own = (ipaddress.ip_address(text) for text in around.addresses)
    return sorted(
        str(address)
        for address in own
        if address.version == version
        and not (address.is_loopback or address.is_link_local)
        and (not ranges or any(address in network for network in ranges))
    )


def plan_frontend(
    state: PortState, frontend: Frontend, reach: Reach, around: Surroundings, mark: int
) -> FrontendPlan:
    chosen = _pool(state.port, state.pools, reach)
    server = _server(state.port, reach, around.settings.scheduler, chosen)
    if reach is Reach.INTERNAL:
        return FrontendPlan(server)
    held = reach is not Reach.NODE_PORT and frontend.address not in around.addresses
    members = [*_members(state.port, frontend, reach, around.settings)]
    if held:
        members.append(Member(frontend.family, sets.VIRTUAL_IPS, frontend.address))
    if not chosen:
        members.append(_at(sets.NO_LOCAL_ENDPOINT if state.pools.any else sets.NO_ENDPOINT, frontend))
    if mark and reach is not Reach.CLUSTER_IP and state.pools.cluster:
        members.append(_at(sets.INTERNAL, frontend)._replace(mark=mark))
    return FrontendPlan(server, frontend.address if held else "", tuple(members))


def hairpins(state: PortState, node: str) -> Iterator[Member]:
    """The connections of an endpoint on another node start there and are masqueraded there."""
    family, protocol = state.port.name.family, state.port.name.protocol
    for endpoint in dict.fromkeys((*state.pools.cluster, *state.pools.local)):
        if endpoint.node in ("", node):
            yield Member(family, sets.LOOP_BACK, endpoint.ip, protocol, endpoint.port, endpoint.ip)


def _server(port: ServicePort, reach: Reach, scheduler: str, chosen: tuple[Endpoint, ...]) -> Server:
    targets = tuple((endpoint.ip, endpoint.port) for endpoint in chosen)
    graceful = port.name.protocol is Protocol.TCP
    if reach is Reach.INTERNAL and port.affinity_seconds:
        # A persistent server for a mark doesn't translate ports. This chooses by the client's address alone.
        return Server("mh", targets=targets, graceful=graceful)
    flags = _HASH_PORTS if scheduler == "mh" else 0
    return Server(scheduler, port.affinity_seconds, flags, targets, graceful)


def _pool(port: ServicePort, pools: Pools, reach: Reach) -> tuple[Endpoint, ...]:
    if reach is Reach.INTERNAL:
        return pools.cluster
    local = port.internal_local if reach is Reach.CLUSTER_IP else port.external_local
    return pools.local if local else pools.cluster


def _members(port: ServicePort, frontend: Frontend, reach: Reach, settings: Settings) -> Iterator[Member]:
    match reach:
        case Reach.CLUSTER_IP:
            yield _at(sets.CLUSTER_IP, frontend)
        case Reach.EXTERNAL_IP:
            yield _at(sets.EXTERNAL_IP_LOCAL if port.external_local else sets.EXTERNAL_IP, frontend)
        case Reach.LOAD_BALANCER:
            yield _at(sets.LOAD_BALANCER, frontend)
            if port.external_local:
                yield _at(sets.LOAD_BALANCER_LOCAL, frontend)
            yield from _firewall(port, frontend, settings)
        case Reach.NODE_PORT:
            yield _node_port(sets.NODE_PORT[frontend.protocol], frontend)
            if port.external_local:
                yield _node_port(sets.NODE_PORT_LOCAL[frontend.protocol], frontend)


def _firewall(port: ServicePort, frontend: Frontend, settings: Settings) -> Iterator[Member]:
    if port.source_ranges is None:
        return
    yield _at(sets.LOAD_BALANCER_FIREWALL, frontend)
    for allowed in port.source_ranges:
        for half in _halves(allowed):
            yield _at(sets.SOURCE_RANGE, frontend)._replace(other=half)
    # The node's own connections begin with the address they go to, as the node holds it.
    if _is_within(settings.node_ips, port.source_ranges):
        yield _at(sets.SOURCE_ADDRESS, frontend)._replace(other=frontend.address)


def _halves(network: str) -> tuple[str, ...]:
    """A set can't hold a range of length 0, so that is two."""
    match network:
        case "0.0.0.0/0":
            return "0.0.0.0/1", "128.0.0.0/1"
        case "::/0":
            return "::/1", "8000::/1"
        case _:
            return (network,)


def _is_within(addresses: Collection[str], ranges: Collection[str]) -> bool:
    networks = [ipaddress.ip_network(text) for text in ranges]
    return any(ipaddress.ip_address(text) in network for text in addresses for network in networks)


def _at(name: str, frontend: Frontend) -> Member:
    return Member(frontend.family, name, frontend.address, frontend.protocol, frontend.port)


def _node_port(name: str, frontend: Frontend) -> Member:
    if sets.TYPES[name] == "bitmap:port":
        return Member(frontend.family, name, port=frontend.port)
    return _at(name, frontend)
