"""What has to be written so that the EndpointSlices of one Service say what its Pods are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from fairway.api.objects import Endpoint, EndpointSlice, Pod, Service
from fairway.api.resources import SERVICES
from fairway.controllers.backends import HEADLESS_LABEL, LAST_CHANGE_TRIGGER_TIME, families, is_headless
from fairway.controllers.endpointslice import hints
from fairway.controllers.endpointslice.model import Desired, desired_endpoints
from fairway.controllers.owners import controller_of, is_controlled_by
from fairway.controllers.packing import pack
from fairway.controllers.slices import (
    MANAGED_BY,
    SERVICE_NAME,
    Draft,
    Ownership,
    Ports,
    canonical,
    slice_writes,
)
from fairway.controllers.writes import Plan

CONTROLLER = "endpointslice-controller.k8s.io"
RESERVED_LABELS = (SERVICE_NAME, MANAGED_BY, HEADLESS_LABEL)
MAX_ENDPOINTS = 100


@dataclass(frozen=True, slots=True)
class Topology:
    """What is known of nodes: the zone of each, empty if it names none, and each zone's share of the CPUs."""

    zones: Mapping[str, str]
    shares: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class SlicePlan:
    """The writes, and the nodes whose absence keeps Pods out of the slices."""

    plan: Plan
    missing_nodes: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Sketch:
    drafts: tuple[Draft, ...]
    surplus: tuple[EndpointSlice, ...]
    missing_nodes: frozenset[str]


def plan(
    service: Service,
    pods: Sequence[Pod],
    existing: Iterable[EndpointSlice],
    topology: Topology,
    trigger: str | None,
    limit: int = MAX_ENDPOINTS,
) -> SlicePlan:
    """Pods: those the Service selects; existing: the slices this controller manages for it."""
    slices = sorted(existing, key=lambda s: s.metadata.name)
    mine = [s for s in slices if is_controlled_by(s.metadata, service.metadata.uid)]
    if service.metadata.deletion_timestamp is not None:
        slices = mine  # those it was made to give up are no longer its concern
    ownership = _ownership(service, trigger)
    relabelled = frozenset(s.metadata.name for s in mine if ownership.calls_for_labels(s))
    sketches = []
    for family in families(service):
        desired = desired_endpoints(service, pods, family, topology.zones)
        present = [s for s in mine if s.address_type == family]
        sketches.append(_sketch(desired, present, family, relabelled, limit))
    drafts = [draft for sketch in sketches for draft in _hinted(service, sketch.drafts, topology.shares)]
    surplus = [s for sketch in sketches for s in sketch.surplus]
    wanted = {s.metadata.name for s in mine if s.address_type in families(service)}
    surplus += [s for s in slices if s.metadata.name not in wanted]
    writes = slice_writes(ownership, drafts, surplus)
    missing = frozenset[str]().union(*(sketch.missing_nodes for sketch in sketches))
    return SlicePlan(Plan(writes), missing)


def is_managed(item: EndpointSlice) -> bool:
    return item.metadata.label(MANAGED_BY) == CONTROLLER


def service_of(item: EndpointSlice) -> str:
    """The Service a slice is for. One that lost its label is still found, by its owner, and put right."""
    owner = controller_of(item.metadata)
    named = owner.name if owner is not None and owner.kind == SERVICES.kind else ""
    return item.metadata.label(SERVICE_NAME) or named


def _sketch(
    desired: Desired,
    existing: Sequence[EndpointSlice],
    family: str,
    relabelled: frozenset[str],
    limit: int,
) -> _Sketch:
    by_ports: dict[Ports, list[EndpointSlice]] = {}
    for item in existing:
        by_ports.setdefault(canonical(item.ports or ()), []).append(item)
    drafts: list[Draft] = []
    surplus: list[EndpointSlice] = []
    for ports, endpoints in desired.groups.items():
        packing = pack(by_ports.pop(ports, ()), endpoints, limit, relabelled)
        drafts += [Draft(base, family, ports, filled) for base, filled in packing.filled]
        drafts += [Draft(None, family, ports, fresh) for fresh in packing.fresh]
        surplus += packing.emptied
    surplus += [item for items in by_ports.values() for item in items]
    if not drafts:
        drafts, surplus = _placeholder(family, surplus)
    missing = frozenset(pod.spec.node_name for pod in desired.without_node)
    return _Sketch(tuple(drafts), tuple(surplus), missing)


def _placeholder(family: str, surplus: list[EndpointSlice]) -> tuple[list[Draft], list[EndpointSlice]]:
    """A Service without endpoints still has one slice, so that clients can tell "none" from "not yet"."""
    empty = next((s for s in surplus if not s.endpoints and not s.ports), None)
    return [Draft(empty, family, (), ())], [s for s in surplus if s is not empty]


def _hinted(service: Service, drafts: Sequence[Draft], shares: Mapping[str, float] | None) -> list[Draft]:
    """All slices of one family together: shares only make sense over all endpoints."""
    if hints.is_automatic(service):
        candidates = [hints.Candidate(draft.endpoints, _standing(draft)) for draft in drafts]
        allotted = hints.shared_out(candidates, shares)
        distribution = None
    else:
        allotted, distribution = None, service.spec.traffic_distribution
    if allotted is None:
        allotted = [hints.distributed(draft.endpoints, distribution) for draft in drafts]
    return [
        Draft(draft.base, draft.family, draft.ports, endpoints)
        for draft, endpoints in zip(drafts, allotted, strict=True)
    ]


def _standing(draft: Draft) -> tuple[Endpoint, ...] | None:
    """The slice's own endpoints, hints included, if nothing but hints could change in it."""
    if draft.base is None:
        return None
    current = tuple(draft.base.endpoints or ())
    return current if tuple(replace(e, hints=None) for e in current) == draft.endpoints else None


def _ownership(service: Service, trigger: str | None) -> Ownership:
    return Ownership(
        SERVICES,
        service.metadata,
        _labels(service),
        stamps={LAST_CHANGE_TRIGGER_TIME: trigger},
        incidental=frozenset((HEADLESS_LABEL,)),  # Kubernetes lets it lag behind, too
    )


def _labels(service: Service) -> dict[str, str]:
    labels = {k: v for k, v in (service.metadata.labels or {}).items() if k not in RESERVED_LABELS}
    if is_headless(service):
        labels[HEADLESS_LABEL] = ""
    return {**labels, SERVICE_NAME: service.metadata.name, MANAGED_BY: CONTROLLER}
