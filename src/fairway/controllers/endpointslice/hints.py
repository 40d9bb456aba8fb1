"""Topology hints: for which zone or node an endpoint is meant.

Two schemes, never both: the `topology-mode: Auto` annotation shares endpoints out by the zones' CPUs,
`spec.trafficDistribution` simply keeps every endpoint to its own zone or node.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from fairway.api.objects import Endpoint, EndpointHints, ForZone, Node, Service
from fairway.api.schema.quantity import whole

MODE_ANNOTATION = "service.kubernetes.io/topology-mode"
OLD_MODE_ANNOTATION = "service.kubernetes.io/topology-aware-hints"
ZONE_LABEL = "topology.kubernetes.io/zone"
CONTROL_PLANE_LABELS = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
OVERLOAD = 0.2  # by how much a zone's endpoints may carry more than their share

Endpoints = tuple[Endpoint, ...]


def is_automatic(service: Service) -> bool:
    notes = service.metadata.annotations or {}
    return notes.get(OLD_MODE_ANNOTATION, notes.get(MODE_ANNOTATION)) in ("Auto", "auto")


def zone_shares(nodes: Iterable[Node]) -> Mapping[str, float] | None:
    """The part of all CPUs each zone has; None where a node tells too little to say."""
    cpus: Counter[str] = Counter()
    for node in nodes:
        labels = node.metadata.labels or {}
        if any(label in labels for label in CONTROL_PLANE_LABELS) or not _is_ready(node):
            continue
        zone, cpu = labels.get(ZONE_LABEL, ""), whole((node.status.allocatable or {}).get("cpu", "0"), "1m")
        if not zone or not cpu:
            return None
        cpus[zone] += cpu
    total = sum(cpus.values())
    return {zone: cpu / total for zone, cpu in cpus.items()} if total else None


def distributed(endpoints: Endpoints, distribution: str | None) -> Endpoints:
    """Hints for `spec.trafficDistribution`; endpoints that take no new traffic get none."""
    return tuple(
        replace(e, hints=_own_place(e, distribution) if _takes_traffic(e) else None) for e in endpoints
    )


def _own_place(endpoint: Endpoint, distribution: str | None) -> EndpointHints | None:
    zones = [ForZone(endpoint.zone)] if endpoint.zone else None
    nodes = [ForZone(endpoint.node_name)] if endpoint.node_name else None
    match distribution:
        case "PreferClose" | "PreferSameZone":
            return EndpointHints(for_zones=zones) if zones else None
        case "PreferSameNode":
            return EndpointHints(for_zones=zones, for_nodes=nodes) if zones or nodes else None
    return None


# ---- Auto ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Allocation:
    desired: float
    maximum: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """The endpoints of one slice, and what they were if the slice need not be written otherwise."""

    endpoints: Endpoints
    unchanged: Endpoints | None


def shared_out(candidates: Sequence[Candidate], shares: Mapping[str, float] | None) -> list[Endpoints] | None:
    """Endpoints of all slices with hints; None if no fair allotment exists, then nobody gets any."""
    ready = sum(1 for c in candidates for e in c.endpoints if _takes_traffic(e))
    allocations = _allocations(shares, ready)
    if allocations is None:
        return None
    if any(not e.zone for c in candidates for e in c.endpoints if _takes_traffic(e)):
        return None
    taken: Counter[str] = Counter()
    kept = [_kept(candidate, taken, allocations) for candidate in candidates]
    fresh = [None if kept[i] else list(_at_home(c.endpoints, taken)) for i, c in enumerate(candidates)]
    _level(fresh, taken, allocations)
    return [old if old is not None else tuple(new or ()) for old, new in zip(kept, fresh, strict=True)]


def _allocations(shares: Mapping[str, float] | None, ready: int) -> dict[str, _Allocation] | None:
    if shares is None or len(shares) < 2 or len(shares) > ready:
        return None
    minimum = {zone: math.ceil(share * ready * (1 / (1 + OVERLOAD))) for zone, share in shares.items()}
    spare = ready - sum(minimum.values())
    if spare < 0:
        return None
    return {
        zone: _Allocation(max(share * ready, minimum[zone]), minimum[zone] + spare)
        for zone, share in shares.items()
    }


def _kept(
    candidate: Candidate, taken: Counter[str], allocations: Mapping[str, _Allocation]
) -> Endpoints | None:
    """The slice as it stands, if its hints are still right; counted in `taken`."""
    if candidate.unchanged is None:
        return None
    counts: Counter[str] = Counter()
    for endpoint in candidate.unchanged:
        zones = _hinted(endpoint)
        if bool(zones) != _takes_traffic(endpoint) or any(zone not in allocations for zone in zones):
            return None
        counts.update(zones)
    if any(taken[zone] + n > allocations[zone].maximum for zone, n in counts.items()):
        return None
    taken.update(counts)
    return candidate.unchanged


def _at_home(endpoints: Endpoints, taken: Counter[str]) -> Iterable[Endpoint]:
    for endpoint in endpoints:
        if not _takes_traffic(endpoint):
            yield replace(endpoint, hints=None)
            continue
        taken[endpoint.zone or ""] += 1
        yield replace(endpoint, hints=EndpointHints(for_zones=[ForZone(endpoint.zone or "")]))


def _level(
    slices: Sequence[list[Endpoint] | None], taken: Counter[str], allocations: Mapping[str, _Allocation]
) -> None:
    """Endpoints of zones with too many are meant for zones with too few."""
    giving, receiving = _moves(taken, allocations)
    for endpoints in slices:
        for index, endpoint in enumerate(endpoints or ()):
            if endpoints is None or not giving.total() or not receiving.total():
                return
            if not _takes_traffic(endpoint) or not giving[endpoint.zone or ""]:
                continue
            receiver = min(zone for zone, count in receiving.items() if count)
            endpoints[index] = replace(endpoint, hints=EndpointHints(for_zones=[ForZone(receiver)]))
            giving[endpoint.zone or ""] -= 1
            receiving[receiver] -= 1


def _moves(taken: Counter[str], allocations: Mapping[str, _Allocation]) -> tuple[Counter[str], Counter[str]]:
    """How many each zone gives and gets; halves are not moved for, nor a pair of parts of one endpoint."""
    surplus = {zone: taken[zone] - a.desired for zone, a in sorted(allocations.items())}
    spare = {zone: amount for zone, amount in surplus.items() if amount > 0}
    need = {zone: -amount for zone, amount in surplus.items() if amount < 0}
    giving: Counter[str] = Counter()
    receiving: Counter[str] = Counter()
    while spare and need:
        giver, receiver = max(spare, key=spare.__getitem__), max(need, key=need.__getitem__)
        lesser, greater = sorted((spare[giver], need[receiver]))
        if lesser < 0.5 or greater < 1:
            break
        giving[giver] += 1
        receiving[receiver] += 1
        spare[giver] -= 1
        need[receiver] -= 1
    return giving, receiving


def _hinted(endpoint: Endpoint) -> list[str]:
    return [zone.name for zone in (endpoint.hints.for_zones if endpoint.hints else None) or ()]


def _takes_traffic(endpoint: Endpoint) -> bool:
    return bool(endpoint.conditions.ready)


def _is_ready(node: Node) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions or ())
