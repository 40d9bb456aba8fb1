"""What the type of a Service entails: which fields it uses. Questions about a spec, nothing else."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Obj

CLUSTER_IP: Final = "ClusterIP"
NODE_PORT: Final = "NodePort"
LOAD_BALANCER: Final = "LoadBalancer"
EXTERNAL_NAME: Final = "ExternalName"
PUBLISHED: Final = (NODE_PORT, LOAD_BALANCER)
HEADLESS: Final = "None"
"""The cluster IP of a Service that has none."""


def needs_cluster_ip(spec: Obj) -> bool:
    """Even having none on purpose (headless) counts as having one."""
    return spec.get("type") != EXTERNAL_NAME


def needs_node_ports(spec: Obj) -> bool:
    return spec.get("type") in PUBLISHED


def is_load_balancer(spec: Obj) -> bool:
    return spec.get("type") == LOAD_BALANCER


def needs_health_check_port(spec: Obj) -> bool:
    return spec.get("type") == LOAD_BALANCER and spec.get("externalTrafficPolicy") == "Local"


def is_externally_accessible(spec: Obj) -> bool:
    kind = spec.get("type")
    return kind in PUBLISHED or (kind == CLUSTER_IP and bool(spec.get("externalIPs")))


def is_headless(spec: Obj) -> bool:
    return bool(spec.get("clusterIPs") == [HEADLESS])


def allocates_node_ports(spec: Obj) -> bool:
    """Whether ports that were not asked for are given all the same."""
    kind = spec.get("type")
    return kind == NODE_PORT or (kind == LOAD_BALANCER and spec.get("allocateLoadBalancerNodePorts") is True)


def cluster_ips(spec: Obj | None) -> list[str]:
    """The addresses a Service holds, as they are written in it."""
    if spec is None or spec.get("type") == EXTERNAL_NAME:
        return []
    return [address for address in spec.get("clusterIPs") or () if address and address != HEADLESS]


def node_ports(spec: Obj) -> list[int]:
    """The node ports that are written in a spec."""
    return [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]


def held_node_ports(spec: Obj) -> set[int]:
    """Those a Service holds; in one that publishes nothing (an ExternalName) they are mere ink."""
    return set(node_ports(spec)) if needs_node_ports(spec) else set()
