"""What the proxy knows of a Service: its ports, the addresses it answers on, and the endpoints behind it.

Models only, made from the API's objects and independent of any proxy mode. Which endpoints a node uses is
decided in `topology`; what has changed is tracked in `changes`.
"""

from __future__ import annotations

import enum
import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from fairway.proxy import views

PROXY_NAME_LABEL = "service.kubernetes.io/service-proxy-name"
HEADLESS_LABEL = "service.kubernetes.io/headless"
SERVICE_NAME_LABEL = "kubernetes.io/service-name"
ZONE_LABEL = "topology.kubernetes.io/zone"

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Family(enum.StrEnum):
    """An address family, by the name that nftables gives it."""

    IPV4 = "ip"
    IPV6 = "ip6"
    # Enum's own is a Python function; these are in the keys of everything.
    __hash__ = str.__hash__

    @property
    def version(self) -> int:
        """Of IP."""
        return 4 if self is Family.IPV4 else 6

    @property
    def unspecified(self) -> str:
        """The address that stands for all addresses of the node in the key of a node port."""
        return "0.0.0.0" if self is Family.IPV4 else "::"


class Protocol(enum.StrEnum):
    TCP = "tcp"
    UDP = "udp"
    SCTP = "sctp"
    __hash__ = str.__hash__


class ServicePortName(msgspec.Struct, frozen=True, order=True, gc=False):
    """One port of one Service in one address family: what everything else is keyed by."""

    namespace: str
    name: str
    port: str
    protocol: Protocol
    family: Family

    @property
    def service(self) -> str:
        return f"{self.namespace}/{self.name}"

    def __str__(self) -> str:
        port = f":{self.port}" if self.port else ""
        return f"{self.namespace}/{self.name}{port}/{self.protocol}"


class ServicePort(msgspec.Struct, frozen=True, gc=False):
    """Where a Service port is reached in one family, and how its traffic is to be treated."""

    name: ServicePortName
    cluster_ip: str
    port: int
    node_port: int = 0
    external_ips: tuple[str, ...] = ()
    load_balancer_ips: tuple[str, ...] = ()
    source_ranges: tuple[str, ...] | None = None
    affinity_seconds: int = 0
    internal_local: bool = False
    external_local: bool = False
    listed_source_ranges: tuple[str, ...] = ()
    """The source ranges as they are listed, for modes that show them so; none if one of them is everyone."""
    health_check_node_port: int = 0
    """Where load balancers ask whether this node has endpoints; 0 for nowhere."""

    @property
    def external(self) -> bool:
        """Reachable by anything but its cluster IP."""
        return bool(self.node_port or self.external_ips or self.load_balancer_ips)

    @property
    def uses_cluster_endpoints(self) -> bool:
        """Also with `externalTrafficPolicy: Local`, as clients inside the cluster may use any endpoint."""
        return not self.internal_local or self.external

    @property
    def uses_local_endpoints(self) -> bool:
        return self.internal_local or (
            self.external_local and (self.external or self.health_check_node_port > 0)
        )


class Endpoint(msgspec.Struct, frozen=True, order=True, gc=False):
    """One address and port that traffic may be sent to."""

    ip: str
    port: int
    node: str = ""
    ready: bool = True
    serving: bool = True
    terminating: bool = False
    zone_hints: tuple[str, ...] = ()
    node_hints: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        return self.ready or (self.serving and self.terminating)


def is_proxied(service: views.Service) -> bool:
    """Headless Services, names for the outside, and Services of another proxy have nothing to program."""
    labels = service.metadata.labels or {}
    return (
        service.spec.type != "ExternalName"
        and service.spec.cluster_ip not in ("", "None")
        and PROXY_NAME_LABEL not in labels
        and HEADLESS_LABEL not in labels
    )


def service_ports(service: views.Service) -> Iterator[ServicePort]:
    """Every port of a Service, once for each family that it has a cluster IP in."""
    if not is_proxied(service):
        return
    spec = service.spec
    cluster_ips = {family_of(ip): ip for ip in spec.cluster_ips or [spec.cluster_ip] if canonical(ip)}
    for family, cluster_ip in cluster_ips.items():
        shared = _shared(service, family)
        for port in spec.ports:
            protocol = _protocol(port.protocol)
            if protocol is None or not _is_port(port.port):
                continue
            meta = service.metadata
            name = ServicePortName(meta.namespace, meta.name, port.name, protocol, family)
            node_port = port.node_port if spec.type in ("NodePort", "LoadBalancer") else 0
            node_port = node_port if _is_port(node_port) else 0
            yield ServicePort(name, canonical(cluster_ip), port.port, node_port, *shared)


def _shared(
    service: views.Service, family: Family
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...] | None, int, bool, bool, tuple[str, ...], int]:
    """The fields of a ServicePort that are the same for all ports of a Service in one family."""
    spec = service.spec
    load_balancer_ips: tuple[str, ...] = ()
    ranges: tuple[str, ...] | None = None
    listed: tuple[str, ...] = ()
    if spec.type == "LoadBalancer":
        ingress = service.status.load_balancer.ingress or ()
        # With ipMode Proxy the balancer wants to see the traffic itself, even from inside.
        load_balancer_ips = _in_family([i.ip for i in ingress if i.ip_mode in (None, "VIP")], family)
        ranges = _ranges(spec.load_balancer_source_ranges, family)
        listed = _listed_ranges(spec.load_balancer_source_ranges, family)
    checked = spec.type == "LoadBalancer" and spec.external_traffic_policy == "Local"
    return (
        _in_family(spec.external_ips or [], family),
        load_balancer_ips,
        ranges,
        _affinity_seconds(spec),
        spec.internal_traffic_policy == "Local",
        spec.external_traffic_policy == "Local",
        listed,
        spec.health_check_node_port if checked and _is_port(spec.health_check_node_port) else 0,
    )


def slice_endpoints(view: views.EndpointSlice) -> Iterator[tuple[ServicePortName, Endpoint]]:
    """Every address of a slice with every port of it, under the Service port it stands behind."""
    family = {"IPv4": Family.IPV4, "IPv6": Family.IPV6}.get(view.address_type)
    meta = view.metadata
    if family is None:
        return
    for port in view.ports or ():
        protocol = _protocol(port.protocol or "TCP")
        if port.port is None or not _is_port(port.port) or protocol is None:
            continue
        name = ServicePortName(
            meta.namespace, meta.label(SERVICE_NAME_LABEL), port.name or "", protocol, family
        )
        for endpoint in view.endpoints or ():
            # Only the first address counts: they are interchangeable by the API's definition.
            ip = canonical(endpoint.addresses[0]) if endpoint.addresses else ""
            if ip and family_of(ip) is family:
                yield name, _endpoint(ip, port.port, endpoint)


def _endpoint(ip: str, port: int, view: views.Endpoint) -> Endpoint:
    conditions, hints = view.conditions, view.hints
    ready = conditions.ready is not False
    return Endpoint(
        ip,
        port,
        view.node_name or "",
        ready,
        conditions.serving is not False,
        bool(conditions.terminating),
        tuple(sorted(zone.name for zone in hints.for_zones or ())) if hints else (),
        tuple(sorted(node.name for node in hints.for_nodes or ())) if hints else (),
    )


_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}", re.ASCII)


def canonical(ip: str) -> str:
    """The one spelling of an address; empty for what isn't one, which must never reach the kernel."""
    return ip if _IPV4.fullmatch(ip) else _canonical_ipv6(ip)


@lru_cache(maxsize=1 << 16)
def _canonical_ipv6(ip: str) -> str:
    try:
        return str(ipaddress.IPv6Address(ip))
    except ValueError:
        return ""


def _is_port(number: int) -> bool:
    return 0 < number < 65536


def family_of(address: str) -> Family:
    """Of an address or a range."""
    return Family.IPV6 if ":" in address else Family.IPV4


def _in_family(addresses: list[str], family: Family) -> tuple[str, ...]:
    """Each once, in the order in which they are listed."""
    if not addresses:
        return ()
    found = dict.fromkeys(canonical(ip) for ip in addresses if ip and family_of(ip) is family)
    return tuple(ip for ip in found if ip)


def _ranges(ranges: list[str] | None, family: Family) -> tuple[str, ...] | None:
    """None where everyone is allowed. Overlapping ranges are merged: the kernel's sets refuse them."""
    if not ranges:
        return None
    networks = _networks(ranges, family)
    four = [network for network in networks if isinstance(network, ipaddress.IPv4Network)]
    six = [network for network in networks if isinstance(network, ipaddress.IPv6Network)]
    merged = [*ipaddress.collapse_addresses(four), *ipaddress.collapse_addresses(six)]
    return tuple(str(network) for network in merged)


def _listed_ranges(ranges: list[str] | None, family: Family) -> tuple[str, ...]:
    networks = _networks(ranges, family)
    if any(network.prefixlen == 0 for network in networks):
        return ()
    return tuple(str(network) for network in networks)


def _networks(ranges: list[str] | None, family: Family) -> list[Network]:
    """Those of one family; what is no range is left out."""
    found = [network for text in ranges or () if (network := _network(text)) is not None]
    return [network for network in found if network.version == family.version]


def _network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        return None


def _affinity_seconds(spec: views.ServiceSpec) -> int:
    if spec.session_affinity != "ClientIP":
        return 0
    config = spec.session_affinity_config
    return config.client_ip.timeout_seconds if config and config.client_ip else 10800


_PROTOCOLS = {"TCP": Protocol.TCP, "UDP": Protocol.UDP, "SCTP": Protocol.SCTP}


def _protocol(name: str) -> Protocol | None:
    return _PROTOCOLS.get(name)
