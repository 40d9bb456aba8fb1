"""How something that no node runs (a process, a unit, a VM) is registered as an endpoint: the spelling. Pure.

An EndpointSlice with the label below holds one endpoint; its `nodeName` says whose agent looks after it. The
annotation `fairway.dev/probe` is a readiness probe as containers have it. A Lease of the slice's name and
namespace keeps it: when that lapses, the agent takes the slice away.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

REGISTERED = "fairway.dev/registered"
PROBE = "fairway.dev/probe"
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "register.fairway.dev"

Obj = dict[str, Any]


def service(name: str, port: int, target_port: int, protocol: str) -> Obj:
    """For the first who registers; without selector, so that endpoints are ours to make."""
    ports = [{"name": "main", "port": port, "targetPort": target_port, "protocol": protocol}]
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": ports}}


def endpoint_slice(
    name: str, service_name: str, address: str, port: Mapping[str, Any], node: str, probe: str
) -> Obj:
    """Not ready until a probe has passed, if there is one."""
    labels = {SERVICE_NAME: service_name, MANAGED_BY: MANAGER, REGISTERED: "true"}
    endpoint = {"addresses": [address], "conditions": {"ready": not probe}, "nodeName": node}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": labels, "annotations": {PROBE: probe} if probe else {}},
        "addressType": "IPv6" if ":" in address else "IPv4",
        "ports": [dict(port)],
        "endpoints": [endpoint],
    }


def lease(name: str, holder: str, seconds: int, now: datetime) -> Obj:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": stamp(now)}
    metadata = {"name": name, "labels": {REGISTERED: "true"}}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def stamp(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def lapsed(lease_spec: Mapping[str, Any], now: datetime) -> bool:
    renewed = lease_spec.get("renewTime")
    if not renewed:
        return True
    age = (now - datetime.fromisoformat(renewed)).total_seconds()
    return age > float(lease_spec.get("leaseDurationSeconds") or 0)
