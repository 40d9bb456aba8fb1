"""Routes to the other nodes' Pods, and what is the cluster's and so never masqueraded. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from fairway.api.objects import Node


@dataclass(frozen=True, slots=True)
class NodeRoute:
    """A Pod range and the node it is reached by."""

    destination: IPv4Network
    gateway: str


@dataclass(frozen=True, slots=True)
class RoutePlan:
    put: tuple[NodeRoute, ...] = ()
    delete: tuple[NodeRoute, ...] = ()


def wanted_routes(nodes: Iterable[Node], own_name: str) -> list[NodeRoute]:
    """Each other node's Pod range by way of that node's address."""
    routes = []
    for node in nodes:
        gateway, networks = internal_ip(node), pod_networks(node)
        if node.metadata.name != own_name and gateway:
            routes += [NodeRoute(network, gateway) for network in networks]
    return routes


def plan_routes(wanted: Iterable[NodeRoute], present: Iterable[NodeRoute]) -> RoutePlan:
    """`present` are our own routes only: those of others are left alone."""
    target = {route.destination: route for route in wanted}
    current = {route.destination: route for route in present}
    return RoutePlan(
        put=tuple(route for key, route in target.items() if current.get(key) != route),
        delete=tuple(route for key, route in current.items() if key not in target),
    )


def cluster_networks(nodes: Iterable[Node]) -> list[IPv4Network]:
    """Where Pods' own addresses are known and led back to them: all Pod ranges and all nodes."""
    networks: set[IPv4Network] = set()
    for node in nodes:
        networks |= set(pod_networks(node))
        if address := internal_ip(node):
            networks.add(IPv4Network(address))
    return sorted(networks)


def internal_ip(node: Node) -> str:
    addresses = [a.address for a in node.status.addresses or () if a.type == "InternalIP"]
    return next((address for address in addresses if _is_ipv4(address)), "")


def pod_networks(node: Node) -> list[IPv4Network]:
    ranges = node.spec.pod_cidrs or ([node.spec.pod_cidr] if node.spec.pod_cidr else [])
    return [IPv4Network(text) for text in ranges if _is_ipv4(text.partition("/")[0])]


def _is_ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except ValueError:
        return False
    return True
