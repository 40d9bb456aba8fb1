"""How addresses and ports of many Pods become the subsets of one Endpoints object.

Ports that lead to the same addresses share a subset; beyond a thousand addresses the object is cut.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from fairway.api.objects import EndpointAddress, EndpointsPort, EndpointSubset, Pod, Service
from fairway.controllers.backends import families, is_backend, published_hostname, reference_to
from fairway.controllers.pods import address_in, is_ready, target_port

MAX_ADDRESSES = 1000

_Entry = tuple[EndpointAddress, bool]  # the address, and whether it is ready


def subsets_for(service: Service, pods: Iterable[Pod]) -> list[EndpointSubset]:
    """The full, canonically ordered subsets of a Service over the Pods it selects."""
    entries: dict[EndpointsPort | None, list[_Entry]] = defaultdict(list)
    publish = service.spec.publish_not_ready_addresses
    family = families(service)[0]
    for pod in pods:
        if not is_backend(pod, include_terminating=publish):
            continue
        address = _address(pod, service, family)
        if address is None:
            continue
        for port in _ports(pod, service):
            entries[port].append((address, publish or is_ready(pod)))
    return _repacked(entries)


def _address(pod: Pod, service: Service, family: str) -> EndpointAddress | None:
    ip = address_in(pod, family)
    if ip is None:
        return None
    return EndpointAddress(
        ip=ip,
        hostname=published_hostname(pod, service) or "",
        node_name=pod.spec.node_name or None,
        target_ref=reference_to(pod),
    )


def _ports(pod: Pod, service: Service) -> list[EndpointsPort | None]:
    """The ports this Pod serves; a headless Service without ports lists bare addresses."""
    if not service.spec.ports:
        return [None]
    ports: list[EndpointsPort | None] = []
    for port in service.spec.ports:
        number = target_port(pod, port)
        if number is not None:
            ports.append(EndpointsPort(port.name, number, port.protocol, port.app_protocol))
    return ports


def _repacked(entries: dict[EndpointsPort | None, list[_Entry]]) -> list[EndpointSubset]:
    grouped: dict[tuple[object, ...], tuple[list[_Entry], list[EndpointsPort | None]]] = {}
    for port, found in entries.items():
        ordered = sorted(found, key=lambda entry: _order(entry[0]))
        identity = tuple((*_order(address), ready) for address, ready in ordered)
        grouped.setdefault(identity, (ordered, []))[1].append(port)
    packed = [_subset(found, ports) for found, ports in grouped.values()]
    return sorted(packed, key=lambda subset: [(p.name, p.port, p.protocol) for p in subset.ports or ()])


def _order(address: EndpointAddress) -> tuple[str, str]:
    # Two Pods on the host's network share an address; the uid keeps them apart.
    return address.ip, address.target_ref.uid if address.target_ref else ""


def _subset(found: Sequence[_Entry], ports: Iterable[EndpointsPort | None]) -> EndpointSubset:
    named = sorted((p for p in ports if p), key=lambda p: (p.name, p.port, p.protocol))
    return EndpointSubset(
        addresses=[address for address, ready in found if ready] or None,
        not_ready_addresses=[address for address, ready in found if not ready] or None,
        ports=named or None,
    )


def truncated(subsets: list[EndpointSubset], limit: int = MAX_ADDRESSES) -> tuple[list[EndpointSubset], bool]:
    """At most `limit` addresses, ready ones first, each subset giving up its share; and whether any went."""
    ready = sum(len(s.addresses or ()) for s in subsets)
    unready = sum(len(s.not_ready_addresses or ()) for s in subsets)
    if ready + unready <= limit:
        return subsets, False
    cut_ready = ready > limit
    total, room = (ready, limit) if cut_ready else (unready, limit - ready)
    left, result = room, []
    for subset in subsets:
        size = len((subset.addresses if cut_ready else subset.not_ready_addresses) or ())
        take = min(left, math.ceil(size / total * room))
        left -= take
        result.append(_cut(subset, take, cut_ready))
    return result, True


def _cut(subset: EndpointSubset, take: int, cut_ready: bool) -> EndpointSubset:
    if cut_ready:
        return EndpointSubset((subset.addresses or [])[:take] or None, None, subset.ports)
    kept = (subset.not_ready_addresses or [])[:take] or None
    return EndpointSubset(subset.addresses, kept, subset.ports)
