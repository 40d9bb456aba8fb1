"""What a client left out of an update, or wrote in one of two linked fields only: what it meant by that.

These run before anything is allocated, for what is kept need not be.
"""

from __future__ import annotations

from fairway.api.kind import Obj
from fairway.api.kinds.service.traits import (
    allocates_node_ports,
    needs_cluster_ip,
    needs_health_check_port,
    node_ports,
)


def link_addresses(spec: Obj) -> None:
    """In a new Service: clients that know of one address only write just `clusterIP`."""
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def keep_allocated(spec: Obj, before: Obj) -> None:
    """Sending the same manifest again must not cost a Service its addresses and ports."""
    if needs_cluster_ip(before) and needs_cluster_ip(spec):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and before.get(name):
                spec[name] = before[name]
    if allocates_node_ports(before) and allocates_node_ports(spec):
        _keep_node_ports(spec, before)
    if (
        needs_health_check_port(before)
        and needs_health_check_port(spec)
        and not spec.get("healthCheckNodePort")
        and before.get("healthCheckNodePort")
    ):
        spec["healthCheckNodePort"] = before["healthCheckNodePort"]


def _keep_node_ports(spec: Obj, before: Obj) -> None:
    """A port is known by its name; its number and protocol may have changed."""
    moved = set(node_ports(before)) & set(node_ports(spec))
    known = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        kept = known.get(port.get("name", ""), 0)
        if not port.get("nodePort") and kept and kept not in moved:
            port["nodePort"] = kept


def relink_addresses(spec: Obj, before: Obj) -> None:
    """In an update: a change of one of `clusterIP` and `clusterIPs` was meant for both."""
    address, old = spec.get("clusterIP") or "", before.get("clusterIP") or ""
    addresses, olds = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if address == old:
        if olds and not addresses:
            spec["clusterIPs"] = olds
    elif addresses == olds:
        if address:
            spec["clusterIPs"] = [address]
        else:
            spec.pop("clusterIPs", None)
