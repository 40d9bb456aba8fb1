"""Which addresses there are to answer for, and whether this node may. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from fairway.api.objects import EndpointSlice, Node
from fairway.lb.balancer.annotations import is_internal
from fairway.lb.objects import Service, is_ours

SERVICE_NAME_LABEL = "kubernetes.io/service-name"
EXCLUDED_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"
LEASE_LABEL = "fairway.dev/load-balancer-address"


@dataclass(frozen=True, slots=True)
class Announcement:
    """An address, the Services behind it, and whether a node with their endpoints is needed."""

    address: str
    services: tuple[str, ...]
    local: bool = False


def announcements(services: Iterable[Service], default_class: bool) -> dict[str, Announcement]:
    """Addresses of internal Services are not announced: only nodes and Pods are to reach them."""
    users: dict[str, list[Service]] = {}
    for service in services:
        if not is_ours(service, default_class) or service.metadata.deletion_timestamp or is_internal(service):
            continue
        for text in service.addresses:
            if address := canonical(text):
                users.setdefault(address, []).append(service)
    return {address: _announcement(address, found) for address, found in users.items()}


def _announcement(address: str, services: list[Service]) -> Announcement:
    keys = tuple(sorted(service.metadata.key for service in services))
    return Announcement(address, keys, any(s.spec.external_traffic_policy == "Local" for s in services))


def may_hold(announcement: Announcement, local: frozenset[str], healthy: bool) -> bool:
    """With policy Local every Service behind the address needs a ready endpoint here."""
    return healthy and (not announcement.local or local.issuperset(announcement.services))


def local_services(slices: Iterable[EndpointSlice], node: str) -> frozenset[str]:
    """Services with a ready endpoint on a node."""
    return frozenset(
        f"{entry.metadata.namespace}/{entry.metadata.label(SERVICE_NAME_LABEL)}"
        for entry in slices
        if any(e.node_name == node and e.conditions.ready is not False for e in entry.endpoints or ())
    )


def is_healthy(node: Node | None) -> bool:
    """A node that nobody has registered is as good as its speaker says; a registered one must be ready."""
    if node is None:
        return True
    labels = node.metadata.labels or {}
    ready = next((c.status for c in node.status.conditions or () if c.type == "Ready"), "True")
    return ready == "True" and EXCLUDED_LABEL not in labels and node.metadata.deletion_timestamp is None


def lease_name(address: str) -> str:
    """`fairway-lb-10.0.0.1`; colons are no part of a name, so IPv6 addresses are spelled out with dashes."""
    parsed = ipaddress.ip_address(address)
    return f"fairway-lb-{parsed.exploded.replace(':', '-')}"


def canonical(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""
