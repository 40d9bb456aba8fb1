"""Services and EndpointSlices for tests, as short as they can be said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fairway.api import objects


def service(name: str = "web", ip: str = "10.96.0.80", port: int = 80, **spec: Any) -> objects.Service:
    """`labels`, `status`, `nodePort`, `protocol` and `ports` are taken out of the spec."""
    meta = {"name": name, "namespace": "default", "labels": spec.pop("labels", None)}
    status = spec.pop("status", {})
    entry = {"port": port, "protocol": spec.pop("protocol", "TCP"), "nodePort": spec.pop("nodePort", 0)}
    whole = {"clusterIP": ip, "clusterIPs": [ip], "ports": [entry]} | spec
    return msgspec.convert({"metadata": meta, "spec": whole, "status": status}, objects.Service)


def endpoint(ip: str, node: str = "", zones: Sequence[str] = (), **conditions: bool) -> dict[str, Any]:
    hints = {"forZones": [{"name": zone} for zone in zones]} if zones else None
    return {
        "addresses": [ip],
        "nodeName": node or None,
        "conditions": {"ready": True} | conditions,
        "hints": hints,
    }


def endpoint_slice(
    endpoints: Sequence[str | dict[str, Any]],
    service: str = "web",
    name: str = "",
    protocol: str = "TCP",
    port: int = 9376,
    labels: dict[str, str] | None = None,
    kind: str = "IPv4",
) -> objects.EndpointSlice:
    entries = [endpoint(entry) if isinstance(entry, str) else entry for entry in endpoints]
    owner = {"kubernetes.io/service-name": service} | (labels or {})
    manifest = {
        "metadata": {"name": name or f"{service}-1", "namespace": "default", "labels": owner},
        "addressType": kind,
        "ports": [{"name": "", "port": port, "protocol": protocol}],
        "endpoints": entries,
    }
    return msgspec.convert(manifest, objects.EndpointSlice)
