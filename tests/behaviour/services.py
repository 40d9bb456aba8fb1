"""The Services of the behaviour table, all there at once, each showing one or two things.

Every Service has its ports for TCP, UDP and SCTP under the same numbers, both families, and unless it is said
otherwise a node port, external IPs and load balancer IPs that lead through each of the nodes. Where policy
Local is for clients outside, load balancers ask for the endpoints of a node at a health-check port.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fairway.api.objects import EndpointSlice, Service

from .places import (
    NODE_OF,
    NODES,
    OTHER_PORT,
    OTHER_SERVICE_PORT,
    OUTER,
    OUTSIDE,
    POD_PORT,
    PODS,
    SERVICE_PORT,
    Address,
)

PROTOCOLS = ("TCP", "UDP", "SCTP")
LOCAL_IN, LOCAL_OUT = {"internalTrafficPolicy": "Local"}, {"externalTrafficPolicy": "Local"}
STICKY = {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 600}}}
# Open to the first client outside, to the Pods of node-1 and to node-2 itself.
GUARDED = {
    "loadBalancerSourceRanges": [
        *("172.30.96.50/32", "10.244.1.0/24", "172.30.96.12/32"),
        *("fd00:30::50/128", "fd00:244:1::/64", "fd00:30::12/128"),
    ]
}


@dataclass(frozen=True, slots=True)
class Behind:
    """One endpoint of a Service: a Pod, or `outside`, a machine that isn't part of the cluster."""

    name: str
    ready: bool = True
    serving: bool = True
    terminating: bool = False
    zones: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    port: int = POD_PORT

    @property
    def address(self) -> Address:
        return (PODS | OUTSIDE)[self.name]


def leaving(name: str) -> Behind:
    return Behind(name, ready=False, serving=True, terminating=True)


def dead(name: str) -> Behind:
    return Behind(name, ready=False, serving=False, terminating=True)


def near(name: str, *zones: str) -> Behind:
    return Behind(name, zones=zones)


@dataclass(frozen=True, slots=True)
class Given:
    """A Service as the table has it."""

    name: str
    endpoints: tuple[Behind, ...]
    spec: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    two_ports: bool = False
    ip_mode: str = "VIP"
    protocols: tuple[str, ...] = PROTOCOLS


def _plain(*pods: str) -> tuple[Behind, ...]:
    return tuple(Behind(pod) for pod in pods)


SERVICES = {
    given.name: given
    for given in (
        Given("everywhere", _plain("1a", "2a", "3a")),
        Given("alone", _plain("1a")),
        Given("remote", _plain("2a")),
        Given("empty", ()),
        Given("unready", (dead("1a"), Behind("2a", ready=False, serving=False))),
        Given("inside-local", _plain("1a", "1b", "2a"), LOCAL_IN),
        Given("outside-local", _plain("1a", "1b", "2a"), LOCAL_OUT),
        Given("local", _plain("1a", "2a"), LOCAL_IN | LOCAL_OUT),
        Given("empty-local", (), LOCAL_IN | LOCAL_OUT),
        Given("guarded", _plain("1a", "2a"), GUARDED),
        Given("guarded-local", _plain("1a", "2a"), GUARDED | LOCAL_OUT),
        Given("sticky", _plain("1a", "1b", "2a"), STICKY),
        Given("sticky-local", _plain("1a", "1b", "2a"), STICKY | LOCAL_OUT),
        Given("leaving", (leaving("1a"), leaving("2a"), dead("3a"))),
        Given("one-left", (leaving("1a"), Behind("2a"))),
        Given("leaving-local", (leaving("1a"), Behind("2a")), LOCAL_OUT | LOCAL_IN),
        Given("same-zone", (near("1a", "east"), near("2a", "west"), near("3a", "west"))),
        Given(
            "same-node", tuple(Behind(p, zones=("east",), nodes=(NODE_OF[p],)) for p in ("1a", "2a", "3a"))
        ),
        Given("half-hinted", (near("1a", "east"), near("2a", "west"), Behind("3a"))),
        Given("far-zone", (near("2a", "west"), near("3a", "west"))),
        Given("zone-outside-local", (near("1a", "west"), near("2a", "west"), near("3a", "east")), LOCAL_OUT),
        Given("two-ports", _plain("1a", "2a"), two_ports=True),
        Given("moved-port", (Behind("1a"), Behind("2a", port=OTHER_PORT))),
        Given("database", _plain("outside")),
        Given("headless", _plain("1a"), labels={"service.kubernetes.io/headless": ""}),
        Given("foreign", _plain("1a"), labels={"service.kubernetes.io/service-proxy-name": "other"}),
        Given("balancer-only", _plain("1a"), ip_mode="Proxy"),
        Given("flowing", _plain("1a")),
    )
}
_NUMBERS = {name: number for number, name in enumerate(SERVICES, 1)}


def cluster_ip(name: str) -> Address:
    return Address(f"10.96.1.{_NUMBERS[name]}", f"fd00:96::1{_NUMBERS[name]:02}")


def node_port(name: str, port: int = SERVICE_PORT) -> int:
    return 30000 + _NUMBERS[name] + (500 if port == OTHER_SERVICE_PORT else 0)


def health_check_port(name: str) -> int:
    return 31000 + _NUMBERS[name]


def external_ip(name: str, node: str) -> Address:
    return Address(*(f"{prefix}{_NUMBERS[name]}" for prefix in OUTER[node]))


def balancer_ip(name: str, node: str) -> Address:
    return Address(*(f"{prefix}{100 + _NUMBERS[name]}" for prefix in OUTER[node]))


def service(given: Given) -> Service:
    own, name = cluster_ip(given.name), given.name
    outer = [address for node in NODES for address in _both(external_ip(name, node))]
    ingress = [{"ip": ip, "ipMode": given.ip_mode} for node in NODES for ip in _both(balancer_ip(name, node))]
    spec = {
        "type": "LoadBalancer",
        "clusterIP": own.v4,
        "clusterIPs": [own.v4, own.v6],
        "externalIPs": outer,
        "ports": list(_ports(given)),
    }
    if given.spec.get("externalTrafficPolicy") == "Local":
        spec["healthCheckNodePort"] = health_check_port(name)
    manifest = {
        "metadata": {"name": name, "namespace": "default", "labels": given.labels},
        "spec": spec | given.spec,
        "status": {"loadBalancer": {"ingress": ingress}},
    }
    return msgspec.convert(manifest, Service)


def slices(given: Given) -> list[EndpointSlice]:
    """One for each family and each number that the port has behind it, as the controller makes them."""
    made = []
    for family in (4, 6):
        for number in sorted({e.port for e in given.endpoints}) or [POD_PORT]:
            chosen = [e for e in given.endpoints if e.port == number]
            made.append(_slice(given, family, number, chosen))
    return made


def _slice(given: Given, family: int, number: int, chosen: Iterable[Behind]) -> EndpointSlice:
    ports = [{"name": f"web-{p.lower()}", "port": number, "protocol": p} for p in given.protocols]
    if given.two_ports:
        ports += [{"name": f"other-{p.lower()}", "port": OTHER_PORT, "protocol": p} for p in given.protocols]
    manifest = {
        "metadata": {
            "name": f"{given.name}-{family}-{number}",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": given.name} | given.labels,
        },
        "addressType": f"IPv{family}",
        "ports": ports,
        "endpoints": [_endpoint(entry, family) for entry in chosen],
    }
    return msgspec.convert(manifest, EndpointSlice)


def _endpoint(entry: Behind, family: int) -> dict[str, Any]:
    return {
        "addresses": [entry.address.of(family)],
        "nodeName": NODE_OF.get(entry.name),
        "conditions": {"ready": entry.ready, "serving": entry.serving, "terminating": entry.terminating},
        "hints": {
            "forZones": [{"name": zone} for zone in entry.zones],
            "forNodes": [{"name": node} for node in entry.nodes],
        },
    }


def _ports(given: Given) -> Iterable[dict[str, Any]]:
    numbers = {"web": SERVICE_PORT} | ({"other": OTHER_SERVICE_PORT} if given.two_ports else {})
    for label, number in numbers.items():
        for protocol in given.protocols:
            yield {
                "name": f"{label}-{protocol.lower()}",
                "port": number,
                "protocol": protocol,
                "nodePort": node_port(given.name, number),
            }


def _both(address: Address) -> tuple[str, str]:
    return address.v4, address.v6
