"""What a Service asks for when it asks for a load balancer. Pure, made from the Service alone."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from fairway.lb.allocation.pools import Address
from fairway.lb.balancer.annotations import AnnotationError, is_internal, wishes
from fairway.lb.objects import Service

VERSIONS = {"IPv4": 4, "IPv6": 6}


@dataclass(frozen=True, slots=True)
class Sharing:
    """On what terms a Service shares its address: MetalLB's, by the annotation allow-shared-ip."""

    key: str
    ports: frozenset[tuple[str, int]]
    policy: str
    """Two with policy Local must select the same Pods: then a node has endpoints of both or of neither."""
    internal: bool = False

    def obstacle(self, other: Sharing) -> str:
        """Why the two can't have one address; empty if they can."""
        if not self.key or self.key != other.key:
            return "both must have the annotation allow-shared-ip with the same value"
        if taken := sorted(self.ports & other.ports):
            return f"both use port {taken[0][1]}/{taken[0][0]}"
        if self.policy != other.policy:
            return "their externalTrafficPolicy differs, or is Local for different Pods"
        if self.internal != other.internal:
            return "one of them is internal"
        return ""


@dataclass(frozen=True, slots=True)
class Request:
    """`partial`: fewer families will do. `problem`: why it can't be served whatever addresses there are."""

    key: str
    created: str
    versions: tuple[int, ...]
    sharing: Sharing
    wanted: tuple[Address, ...] = ()
    pool: str = ""
    current: tuple[Address, ...] = ()
    partial: bool = False
    proxied: bool = False
    problem: str = ""


def request(service: Service) -> Request:
    meta, spec = service.metadata, service.spec
    wanted, problem = _wanted(service)
    proxied = False
    try:
        proxied = wishes(service) is not None
    except AnnotationError as error:
        problem = problem or str(error)
    return Request(
        key=meta.key,
        created=meta.creation_timestamp or "",
        versions=tuple(VERSIONS[family] for family in spec.ip_families or ["IPv4"] if family in VERSIONS),
        sharing=_sharing(service),
        wanted=wanted,
        pool=service.annotation("address-pool"),
        current=tuple(address for text in service.addresses if (address := _address(text)) is not None),
        partial=spec.ip_family_policy == "PreferDualStack",
        proxied=proxied,
        problem=problem,
    )


def _wanted(service: Service) -> tuple[tuple[Address, ...], str]:
    """The addresses asked for by name, and what is wrong with asking so."""
    annotated = [text.strip() for text in service.annotation("loadBalancerIPs").split(",") if text.strip()]
    texts = annotated or [text for text in [service.spec.load_balancer_ip.strip()] if text]
    found: list[Address] = []
    for text in texts:
        address = _address(text)
        if address is None:
            return (), f"{text!r} is not an address; correct spec.loadBalancerIP or the annotation"
        if any(address.version == other.version for other in found):
            return (), "more than one address of a family is asked for; name one of each at most"
        found.append(address)
    return tuple(found), ""


def _sharing(service: Service) -> Sharing:
    spec = service.spec
    policy = "Cluster"
    if spec.external_traffic_policy == "Local":
        selector = sorted((spec.selector or {}).items())
        # Without a selector nobody can say that two have the same endpoints.
        policy = f"Local {selector}" if selector else f"Local {service.metadata.key}"
    ports = frozenset((port.protocol, port.port) for port in spec.ports)
    return Sharing(service.annotation("allow-shared-ip"), ports, policy, is_internal(service))


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
