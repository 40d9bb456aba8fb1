"""The names one Service brings into the zone, from the Service and its EndpointSlices (DNS specification
1.1).

Pure functions. Where the specification leaves room, the recorded behaviour of CoreDNS decides: weights,
endpoint names of ClusterIP Services, a headless Service without a ready endpoint has no name at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fairway.dns import names
from fairway.dns.zone.model import EXISTS, NO_NAMES, Names, Node, Settings, Target
from fairway.dns.zone.views import Endpoint, EndpointPort, EndpointSlice, Service

_SVC = b"\x03svc"


class Port(msgspec.Struct, frozen=True, gc=False):
    name: str
    protocol: str
    number: int


class Pair(msgspec.Struct, frozen=True, gc=False):
    """One address of an endpoint, under the label it is published as, with the ports of its slice."""

    label: bytes
    address: bytes
    ports: tuple[Port, ...]


def service_name(namespace: str, name: str) -> bytes:
    """`NAME.NAMESPACE.svc`, relative to the zone."""
    return names.join((name.encode(), namespace.encode())) + _SVC


def names_of(service: Service, slices: Iterable[EndpointSlice], settings: Settings) -> Names:
    """Everything the zone holds because of this Service; nothing if it can't be published."""
    try:
        base = service_name(service.metadata.namespace, service.metadata.name)
        if service.spec.type == "ExternalName":
            return _external(service.spec.external_name, base)
    except names.InvalidName:
        return NO_NAMES
    if not settings.endpoints:
        slices = ()
    if service.spec.cluster_ip == "None":
        return _headless(base, list(_pairs(slices, settings)))
    found = _cluster_ip(service, base, slices, settings)
    if not found.endpoints and not settings.empty_services:
        # Only the name is withheld; whoever sees the address may still learn whose it is.
        return Names(base, {}, found.owned)
    return found


def _external(target: str, base: bytes) -> Names:
    # An address is no host name; a CNAME to it would lead nowhere.
    if not target or names.packed(target.rstrip(".")):
        return NO_NAMES
    return Names(base, {base: Node(cname=names.from_text(target).lower())})


def _cluster_ip(service: Service, base: bytes, slices: Iterable[EndpointSlice], settings: Settings) -> Names:
    texts = service.spec.cluster_ips or [service.spec.cluster_ip]
    addresses = [packed for text in texts if (packed := names.packed(text))]
    if not addresses:
        return NO_NAMES
    ports = [Port(port.name, port.protocol.lower(), port.port) for port in service.spec.ports]
    pairs_all = [(port.number, base) for port in ports for _ in addresses]
    nodes = {base: _node(addresses, pairs_all)}
    for port in ports:
        if port.name:
            own = [(port.number, base)] * len(addresses)
            # The specification has no addresses here. CoreDNS has; blocks that were cut to measure keep them.
            node = _node(addresses, own) if settings.tailored else Node(srv=_targets(own))
            nodes |= _port_names(base, port, node)
    return Names(base, nodes, tuple(addresses), _endpoint_addresses(slices))


def _endpoint_addresses(slices: Iterable[EndpointSlice]) -> tuple[bytes, ...]:
    """Those of ready endpoints. Behind a virtual IP their names don't matter before someone asks."""
    texts = (
        text
        for piece in slices
        for endpoint in piece.endpoints or ()
        if _is_ready(endpoint)
        for text in endpoint.addresses
    )
    return tuple(dict.fromkeys(address for text in texts if (address := names.packed(text))))


def _is_ready(endpoint: Endpoint) -> bool:
    # A missing `ready` means ready: the slice's author doesn't know better (EndpointConditions).
    return endpoint.conditions.ready is not False


def _headless(base: bytes, pairs: Sequence[Pair]) -> Names:
    if not pairs:
        return NO_NAMES
    nodes = {base: _node([pair.address for pair in pairs], _all_ports(base, pairs))}
    for port in {Port(p.name, p.protocol, 0): None for pair in pairs for p in pair.ports if p.name}:
        chosen = [(pair, p.number) for pair in pairs for p in pair.ports if _same(p, port)]
        targets = [(number, _under(pair.label, base)) for pair, number in chosen]
        nodes |= _port_names(base, port, _node([pair.address for pair, _ in chosen], targets))
    nodes |= _endpoint_nodes(base, pairs)
    return Names(base, nodes, (), _addresses(pairs))


def _same(port: Port, other: Port) -> bool:
    return port.name == other.name and port.protocol == other.protocol


def _port_names(base: bytes, port: Port, node: Node) -> dict[bytes, Node]:
    """`_PORT._PROTO.SERVICE` and, as it then exists, `_PROTO.SERVICE`."""
    protocol = _under(b"_" + port.protocol.encode(), base)
    return {_under(b"_" + port.name.encode(), protocol): node, protocol: EXISTS}


def _endpoint_nodes(base: bytes, pairs: Sequence[Pair]) -> dict[bytes, Node]:
    groups: dict[bytes, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.label, []).append(pair)
    return {
        _under(label, base): _node([pair.address for pair in group], _all_ports(base, group))
        for label, group in groups.items()
    }


def _addresses(pairs: Sequence[Pair]) -> tuple[bytes, ...]:
    return tuple(dict.fromkeys(pair.address for pair in pairs))


def endpoint_node(
    base: bytes, label: bytes, slices: Iterable[EndpointSlice], settings: Settings
) -> Node | None:
    """One endpoint of a Service with a virtual IP, by its label. Such names are many and hardly ever asked
    for, so they are not kept."""
    group = [pair for pair in _pairs(slices, settings) if pair.label == label] if settings.endpoints else []
    return _node([pair.address for pair in group], _all_ports(base, group)) if group else None


def endpoint_names(
    base: bytes, address: bytes, slices: Iterable[EndpointSlice], settings: Settings
) -> list[bytes]:
    """The names that an address of an endpoint leads back to."""
    labels = (pair.label for pair in _pairs(slices, settings) if pair.address == address)
    return list(dict.fromkeys(_under(label, base) for label in labels))


def _all_ports(base: bytes, pairs: Sequence[Pair]) -> list[tuple[int, bytes]]:
    return [(port.number, _under(pair.label, base)) for pair in pairs for port in pair.ports]


def _node(addresses: Sequence[bytes], pairs: Sequence[tuple[int, bytes]]) -> Node:
    unique = dict.fromkeys(addresses)
    return Node(
        a=tuple(address for address in unique if len(address) == 4),
        aaaa=tuple(address for address in unique if len(address) == 16),
        srv=_targets(pairs),
    )


def _targets(pairs: Sequence[tuple[int, bytes]]) -> tuple[Target, ...]:
    # The share of each pair counts before duplicates go, so weights stay comparable when names coincide.
    weight = max(1, 100 // len(pairs)) if pairs else 0
    return tuple(Target(weight, port, name) for port, name in dict.fromkeys(pairs))


def _under(label: bytes, base: bytes) -> bytes:
    return bytes((len(label),)) + label + base


# ---- endpoints -----------------------------------------------------------------------------------------


def _pairs(slices: Iterable[EndpointSlice], settings: Settings) -> Iterator[Pair]:
    for piece in slices:
        ports = tuple(_port(port) for port in piece.ports or () if port.port is not None)
        for endpoint in piece.endpoints or ():
            if not _is_ready(endpoint):
                continue
            for text in endpoint.addresses:
                address = names.packed(text)
                label = endpoint_label(endpoint, text, settings)
                if address and 0 < len(label) <= names.MAX_LABEL:
                    yield Pair(label, address, ports)


def _port(port: EndpointPort) -> Port:
    return Port(port.name or "", (port.protocol or "TCP").lower(), port.port or 0)


def endpoint_label(endpoint: Endpoint, address: str, settings: Settings) -> bytes:
    """The hostname, else (if wanted) the Pod's name, else the address with dashes."""
    if endpoint.hostname:
        return endpoint.hostname.lower().encode()
    pod = endpoint.target_ref.name if endpoint.target_ref and settings.endpoint_pod_names else ""
    if 0 < len(pod) <= names.MAX_LABEL:
        return pod.lower().encode()
    dashed = address.lower().replace(".", "-").replace(":", "-")
    # A label may not end in a dash, as one made from an address like fd00:: would.
    return (dashed + "0" if dashed.endswith("-") else dashed).encode()
