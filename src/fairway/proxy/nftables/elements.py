"""What one Service port is in the kernel: its frontends, and the elements that lead from them to endpoints.

Pure functions of one Service port and what was programmed for it before; conflicts between Services and the
difference to what the kernel holds are in `plan`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from fairway.proxy.changes import PortState
from fairway.proxy.model import Endpoint, Family, Protocol, ServicePort, ServicePortName
from fairway.proxy.nftables.chains import INTERNAL_OFFSET, SEATS, Choice, Reach, choice
from fairway.proxy.nftables.ruleset import REFUSE
from fairway.proxy.nftables.transaction import Element
from fairway.proxy.settings import Settings


class Frontend(NamedTuple):
    """An address and port that a Service port answers on; a node port has the unspecified address."""

    family: Family
    address: str
    protocol: Protocol
    port: int

    @property
    def key(self) -> str:
        return f"{self.address} . {self.protocol} . {self.port}"

    @property
    def target_key(self) -> str:
        """As in the maps that are kept per protocol."""
        return f"{self.address} . {self.port}"


class Order(NamedTuple):
    """Endpoints by slot, kept stable over changes so that a change touches few elements."""

    cluster: tuple[str, ...] = ()
    local: tuple[str, ...] = ()


class ServicePlan(msgspec.Struct, frozen=True):
    """All that is in the kernel for one Service port; `shared` elements may belong to others as well.

    Nothing is in any of the tuples twice.
    """

    elements: tuple[Element, ...] = ()
    choices: tuple[Choice, ...] = ()
    shared: tuple[Element, ...] = ()
    order: Order = Order()
    frontends: tuple[Frontend, ...] = ()


NOTHING = ServicePlan()


def frontends(port: ServicePort) -> Iterator[tuple[Frontend, Reach]]:
    """Where the port is reached; the first kinds are the stronger claims to an address."""
    family, protocol = port.name.family, port.name.protocol
    external = Reach.LOCAL if port.external_local else Reach.EXTERNAL
    yield Frontend(family, port.cluster_ip, protocol, port.port), Reach.CLUSTER
    if port.node_port:
        yield Frontend(family, family.unspecified, protocol, port.node_port), external
    for address in dict.fromkeys((*port.load_balancer_ips, *port.external_ips)):
        if address != port.cluster_ip:
            yield Frontend(family, address, protocol, port.port), external


def plan_port(
    state: PortState, granted: Mapping[Frontend, Reach], settings: Settings, before: Order, node: str
) -> ServicePlan:
    """The plan for the frontends that this Service port has been granted."""
    port, pools = state.port, state.pools
    order = Order(arrange(before.cluster, pools.cluster), arrange(before.local, pools.local))
    ids = endpoint_ids(port.name, (*order.cluster, *order.local)) if port.affinity_seconds else {}
    ways = _Ways(port, settings, ids)
    for frontend, reach in granted.items():
        if not pools.any:
            ways.elements.append(Element("services", frontend.key, REFUSE))
        elif reach is Reach.CLUSTER:
            ways.choose(frontend, reach, order.local if port.internal_local else order.cluster)
        elif reach is Reach.EXTERNAL:
            ways.choose(frontend, reach, order.cluster)
        else:
            ways.choose(frontend, reach, order.local)
            ways.choose(frontend, Reach.INTERNAL, order.cluster)
    if port.source_ranges is not None:
        ways.elements += _firewall(port, granted)
    return ServicePlan(
        tuple(ways.elements if len(granted) == 1 else dict.fromkeys(ways.elements)),
        tuple(dict.fromkeys(ways.choices)),
        _shared(state, settings, node),
        order,
        tuple(granted),
    )


class _Ways:
    """Collects the elements and chains that lead from frontends to endpoints."""

    def __init__(self, port: ServicePort, settings: Settings, ids: Mapping[str, str]) -> None:
        self._port = port
        self._ids = ids
        self._seat = _seat(port.name) if settings.round_robin else -1
        self.elements: list[Element] = []
        self.choices: list[Choice] = []

    def choose(self, frontend: Frontend, reach: Reach, targets: tuple[str, ...]) -> None:
        """Lead the frontend to one of the targets. Policy Local without a local endpoint drops."""
        name = "internal" if reach is Reach.INTERNAL else "services"
        if not targets and reach is not Reach.LOCAL:
            self.elements.append(Element(name, frontend.key, "drop"))
            return
        node_port = frontend.address == frontend.family.unspecified
        if targets:
            way = (len(targets), node_port, self._port.affinity_seconds, self._seat)
        else:
            way = (0, node_port, 0, -1)
        made, verdict = choice(reach, frontend.protocol, *way)
        self.choices.append(made)
        self.elements.append(Element(name, frontend.key, verdict))
        self._add_slots(frontend, targets, INTERNAL_OFFSET if reach is Reach.INTERNAL else 0)

    def _add_slots(self, frontend: Frontend, targets: tuple[str, ...], offset: int) -> None:
        if self._port.affinity_seconds:
            self.elements += self._sticky(frontend, targets, offset)
            return
        name, key = f"{frontend.protocol}-endpoints", frontend.target_key
        for slot, target in enumerate(targets, offset):
            self.elements.append(Element(name, f"{key} . {slot}", target))

    def _sticky(self, frontend: Frontend, targets: tuple[str, ...], offset: int) -> Iterator[Element]:
        """The two pools of a frontend may share an endpoint; it is known by one id in both."""
        for slot, target in enumerate(targets, offset):
            known_by = self._ids[target]
            yield Element("sticky-slots", f"{frontend.key} . {slot}", known_by)
            yield Element(f"{frontend.protocol}-sticky", f"{frontend.target_key} . {known_by}", target)


def arrange(before: tuple[str, ...], endpoints: Sequence[Endpoint]) -> tuple[str, ...]:
    """Slots for the endpoints: those that had one keep it, as far as that leaves no gap."""
    wanted = [f"{endpoint.ip} . {endpoint.port}" for endpoint in endpoints[: INTERNAL_OFFSET - 1]]
    if not before or wanted == list(before):
        return tuple(wanted)
    keep, count = set(wanted), len(wanted)
    slots = [target if target in keep else "" for target in before[:count]]
    slots += [""] * (count - len(slots))
    placed = set(slots)
    homeless = iter([target for target in wanted if target not in placed])
    return tuple(target or next(homeless) for target in slots)


def endpoint_ids(name: ServicePortName, targets: Iterable[str]) -> dict[str, str]:
    """An id for each target, the same in every process: clients stay where they are over a restart.

    Written the way nft writes a packet's priority. Ids need only differ within one Service port.
    """
    ids: dict[str, str] = {}
    taken: set[int] = set()
    for target in sorted(set(targets)):
        number = zlib.crc32(f"{name}|{target}".encode()) & 0x0FFFFFFF
        while number in taken:
            number = (number + 1) & 0x0FFFFFFF
        taken.add(number)
        ids[target] = f"f{number >> 16:03x}:{number & 0xFFFF:x}"
    return ids


def _seat(name: ServicePortName) -> int:
    return zlib.crc32(str(name).encode()) % SEATS


def _shared(state: PortState, settings: Settings, node: str) -> tuple[Element, ...]:
    # The connections of an endpoint on another node start there and are translated there.
    near = {e.ip for pool in (state.pools.cluster, state.pools.local) for e in pool if e.node in ("", node)}
    hairpins = tuple(Element("hairpin", f"{ip} . {ip}") for ip in near)
    if settings.knows_service_ranges(state.port.name.family):
        return hairpins
    return (*hairpins, Element("cluster-ips", state.port.cluster_ip))


def _firewall(port: ServicePort, granted: Iterable[Frontend]) -> Iterator[Element]:
    """`loadBalancerSourceRanges` guards the load balancer's addresses alone."""
    for frontend in granted:
        if frontend.address in port.load_balancer_ips:
            yield Element("firewalled", frontend.key)
            for allowed in port.source_ranges or ():
                yield Element("allowed-sources", f"{frontend.key} . {allowed}")
