"""What Endpoints and slices should say, computed anew from Services, Pods and Nodes, in the plainest way.

It shares no code with the controllers: objects are the JSON the API server answered with.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

Obj = dict[str, Any]
# (family, ports) → (address, Pod, ready, serving, terminating, node, zone, hostname, hints)
Published = dict[tuple[Any, ...], set[tuple[Any, ...]]]


def slices_wanted(service: Obj, pods: list[Obj], nodes: dict[str, Obj]) -> Published:
    groups: Published = defaultdict(set)
    for family in service["spec"]["ipFamilies"]:
        groups_of_family: Published = defaultdict(set)
        for pod in _selected(service, pods):
            address = _address(pod, family)
            known = pod["spec"].get("nodeName", "") in nodes
            if address and (known or _publishes_all(service)):
                ports = _ports(service, pod)
                groups_of_family[family, ports].add(_endpoint(service, pod, address, nodes))
        groups |= groups_of_family or {(family, ()): set()}
    return dict(groups)


def slices_found(slices: list[Obj]) -> Published:
    groups: Published = defaultdict(set)
    for item in slices:
        ports = tuple(sorted((p.get("name", ""), p["port"], p["protocol"]) for p in item.get("ports") or ()))
        group = groups[item["addressType"], ports]
        assert len(item.get("endpoints") or ()) <= 100
        for endpoint in item.get("endpoints") or ():
            said = _said(endpoint)
            assert said not in group, f"listed twice: {said}"
            group.add(said)
    return dict(groups)


def endpoints_wanted(service: Obj, pods: list[Obj]) -> set[tuple[Any, ...]]:
    """Every (port, address, Pod, ready) there should be; a port without Pods is not there at all."""
    family = service["spec"]["ipFamilies"][0]
    found = set()
    for pod in _selected(service, pods):
        going = "deletionTimestamp" in pod["metadata"]
        address = _address(pod, family)
        if not address or (going and not _publishes_all(service)):
            continue
        ready = _publishes_all(service) or _is_ready(pod)
        ports = _ports(service, pod) if service["spec"].get("ports") else (None,)
        found |= {(port, address, pod["metadata"]["uid"], ready) for port in ports}
    return found


def endpoints_found(endpoints: Obj) -> set[tuple[Any, ...]]:
    found = set()
    for subset in endpoints.get("subsets") or ():
        ports = [(p.get("name", ""), p["port"], p["protocol"]) for p in subset.get("ports") or ()] or [None]
        for name, ready in (("addresses", True), ("notReadyAddresses", False)):
            for entry in subset.get(name) or ():
                found |= {(port, entry["ip"], entry["targetRef"]["uid"], ready) for port in ports}
    return found


def _selected(service: Obj, pods: list[Obj]) -> list[Obj]:
    wanted = service["spec"]["selector"].items()
    ended = ("Succeeded", "Failed")
    return [
        pod
        for pod in pods
        if wanted <= (pod["metadata"].get("labels") or {}).items() and pod["status"].get("phase") not in ended
    ]


def _publishes_all(service: Obj) -> bool:
    return bool(service["spec"].get("publishNotReadyAddresses"))


def _address(pod: Obj, family: str) -> str | None:
    ips = [entry["ip"] for entry in pod["status"].get("podIPs") or ()]
    return next((ip for ip in ips if (":" in ip) == (family == "IPv6")), None)


def _is_ready(pod: Obj) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _ports(service: Obj, pod: Obj) -> tuple[tuple[str, int, str], ...]:
    named = {}
    for container in reversed(pod["spec"]["containers"]):
        named |= {(p.get("name"), p["protocol"]): p["containerPort"] for p in container.get("ports") or ()}
    ports = []
    for port in service["spec"].get("ports") or ():
        target = port["targetPort"]
        number = named.get((target, port["protocol"])) if isinstance(target, str) else target
        if number is not None:
            ports.append((port.get("name", ""), number, port["protocol"]))
    return tuple(sorted(ports))


def _endpoint(service: Obj, pod: Obj, address: str, nodes: dict[str, Obj]) -> tuple[Any, ...]:
    serving, going = _is_ready(pod), "deletionTimestamp" in pod["metadata"]
    ready = _publishes_all(service) or (serving and not going)
    node = pod["spec"].get("nodeName")
    labels = nodes.get(node, {}).get("metadata", {}).get("labels") or {}
    zone = labels.get("topology.kubernetes.io/zone")
    named = pod["spec"].get("subdomain") == service["metadata"]["name"]
    hostname = pod["spec"].get("hostname") if named else None
    hint = zone if ready and service["spec"].get("trafficDistribution") == "PreferClose" else None
    return address, pod["metadata"]["uid"], ready, serving, going, node, zone, hostname, hint


def _said(endpoint: Obj) -> tuple[Any, ...]:
    (address,), conditions = endpoint["addresses"], endpoint["conditions"]
    hints = ((endpoint.get("hints") or {}).get("forZones") or [{}])[0].get("name")
    return (
        address, endpoint["targetRef"]["uid"], conditions["ready"], conditions["serving"],
        conditions["terminating"], endpoint.get("nodeName"), endpoint.get("zone"), endpoint.get("hostname"),
        hints,
    )  # fmt: skip
