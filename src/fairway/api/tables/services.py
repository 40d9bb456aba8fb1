"""Rows of what makes up a Service: Service, Endpoints and EndpointSlice."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from fairway.api.tables.column import AGE, NAME, NONE, WIDE, Printer, Printers, documented
from fairway.api.tables.durations import UNKNOWN, age
from fairway.api.tables.reading import Object, entries, mapping, name_of, number, text
from fairway.api.tables.selector_text import labels_text

SHOWN: Final = 3
"""So many addresses, ports or hosts are written out; the rest is counted."""


def service_cells(service: Object, now: datetime) -> list[Any]:
    ports = entries(service, "spec", "ports")
    return [
        name_of(service),
        text(service, "spec", "type"),
        next(iter(entries(service, "spec", "clusterIPs")), NONE),
        external_address(service),
        ",".join(map(service_port, ports)) or NONE,
        age(service, now),
        labels_text(mapping(service, "spec", "selector")),
    ]


def external_address(service: Object) -> str:
    """Where a Service can be reached from outside the cluster."""
    kind = text(service, "spec", "type")
    external = entries(service, "spec", "externalIPs")
    if kind == "ExternalName":
        return text(service, "spec", "externalName")
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(external) or NONE
    if kind == "LoadBalancer":
        return ",".join([*ingress_points(service), *external]) or "<pending>"
    return UNKNOWN


def ingress_points(obj: Object) -> list[str]:
    """Addresses, or else host names, at which a load balancer serves the object; sorted, each once."""
    points = entries(obj, "status", "loadBalancer", "ingress")
    return sorted({text(point, "ip") or text(point, "hostname") for point in points} - {""})


def service_port(port: Object) -> str:
    node_port = number(port, "nodePort")
    outside = f":{node_port}" if node_port > 0 else ""
    return f"{number(port, 'port')}{outside}/{text(port, 'protocol')}"


def endpoints_cells(endpoints: Object, now: datetime) -> list[Any]:
    subsets = entries(endpoints, "subsets")
    pairs = [pair for subset in subsets for pair in address_port_pairs(subset)]
    return [name_of(endpoints), abbreviated(pairs) if subsets else NONE, age(endpoints, now)]


def address_port_pairs(subset: Object) -> list[str]:
    """Ready addresses with each port of the subset; without any port (a headless Service) as they are."""
    addresses = [text(address, "ip") for address in entries(subset, "addresses")]
    ports = [number(port, "port") for port in entries(subset, "ports")]
    return [host_port(address, port) for port in ports for address in addresses] if ports else addresses


def host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def abbreviated(shown: list[str]) -> str:
    """The first few of a list, and how many more there are."""
    more = f" + {len(shown) - SHOWN} more..." if len(shown) > SHOWN else ""
    return ",".join(shown[:SHOWN]) + more


def endpoint_slice_cells(endpoint_slice: Object, now: datetime) -> list[Any]:
    endpoints = entries(endpoint_slice, "endpoints")
    addresses = [address for endpoint in endpoints for address in entries(endpoint, "addresses")]
    return [
        name_of(endpoint_slice),
        text(endpoint_slice, "addressType"),
        abbreviated([slice_port(port) for port in entries(endpoint_slice, "ports")]) or "<unset>",
        abbreviated(addresses) or "<unset>",
        age(endpoint_slice, now),
    ]


def slice_port(port: Object) -> str:
    """The number; a port without one stands for all, and is shown by its name if it has one."""
    if port.get("port") is not None:
        return str(port["port"])
    return "*" if port.get("name") is None else str(port["name"])


PRINTERS: Final[Printers] = {
    ("", "Service"): Printer(
        (
            NAME,
            documented("Type", "ServiceSpec.type"),
            documented("Cluster-IP", "ServiceSpec.clusterIP"),
            documented("External-IP", "ServiceSpec.externalIPs"),
            documented("Port(s)", "ServiceSpec.ports"),
            AGE,
            documented("Selector", "ServiceSpec.selector", priority=WIDE),
        ),
        service_cells,
    ),
    ("", "Endpoints"): Printer((NAME, documented("Endpoints", "Endpoints.subsets"), AGE), endpoints_cells),
    ("discovery.k8s.io", "EndpointSlice"): Printer(
        (
            NAME,
            documented("AddressType", "EndpointSlice.addressType"),
            documented("Ports", "EndpointSlice.ports"),
            documented("Endpoints", "EndpointSlice.endpoints"),
            AGE,
        ),
        endpoint_slice_cells,
    ),
}
