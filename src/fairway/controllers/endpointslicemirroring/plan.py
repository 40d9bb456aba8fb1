"""What slices mirror one hand-made Endpoints object: one group a port set and address family."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairway.api.objects import (
    Endpoint,
    EndpointAddress,
    EndpointConditions,
    EndpointPort,
    Endpoints,
    EndpointSlice,
    EndpointSubset,
    Service,
)
from fairway.api.resources import ENDPOINTS
from fairway.controllers.backends import LAST_CHANGE_TRIGGER_TIME
from fairway.controllers.owners import is_controlled_by
from fairway.controllers.packing import pack
from fairway.controllers.pods import IPV4, IPV6, family_of
from fairway.controllers.slices import (
    MANAGED_BY,
    SERVICE_NAME,
    Draft,
    Identity,
    Ownership,
    Ports,
    canonical,
    deletions,
    identity,
    slice_writes,
)
from fairway.controllers.writes import Plan

CONTROLLER = "endpointslicemirroring-controller.k8s.io"
SKIP_LABEL = "endpointslice.kubernetes.io/skip-mirror"
LEADER_ANNOTATION = "control-plane.alpha.kubernetes.io/leader"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MAX_PER_SUBSET = 1000

_Group = tuple[str, Ports]


def plan(service: Service | None, endpoints: Endpoints | None, existing: Sequence[EndpointSlice]) -> Plan:
    """Existing: the mirrors of this name; they all go if there is nothing to mirror any more."""
    if endpoints is None or not is_mirrored(service, endpoints):
        return Plan(deletions(existing))
    ownership = _ownership(endpoints)
    mine = [s for s in existing if is_controlled_by(s.metadata, endpoints.metadata.uid)]
    drafts: list[Draft] = []
    kept: set[str] = set()
    for (family, ports), desired in _groups(endpoints).items():
        matching = [s for s in mine if s.address_type == family and canonical(s.ports or ()) == ports]
        packing = pack(matching, desired.values(), MAX_PER_SUBSET, frozenset())
        drafts += [Draft(base, family, ports, filled) for base, filled in packing.filled]
        drafts += [Draft(None, family, ports, fresh) for fresh in packing.fresh]
        kept |= {base.metadata.name for base, _ in packing.filled}
    surplus = [s for s in existing if s.metadata.name not in kept]
    return Plan(slice_writes(ownership, drafts, surplus))


def is_mirrored(service: Service | None, endpoints: Endpoints) -> bool:
    """Endpoints of a Service with selector are a controller's; locks and what opted out are no endpoints."""
    return (
        service is not None
        and not service.spec.selector
        and endpoints.metadata.label(SKIP_LABEL) != "true"
        and LEADER_ANNOTATION not in (endpoints.metadata.annotations or {})
    )


def is_mirror(item: EndpointSlice) -> bool:
    return item.metadata.label(MANAGED_BY) == CONTROLLER


def _ownership(endpoints: Endpoints) -> Ownership:
    meta = endpoints.metadata
    own = {SERVICE_NAME: meta.name, MANAGED_BY: CONTROLLER}
    left_out = (LAST_CHANGE_TRIGGER_TIME, LAST_APPLIED)
    notes = {name: value for name, value in (meta.annotations or {}).items() if name not in left_out}
    return Ownership(ENDPOINTS, meta, {**(meta.labels or {}), **own}, annotations=notes)


def _groups(endpoints: Endpoints) -> dict[_Group, dict[Identity, Endpoint]]:
    groups: dict[_Group, dict[Identity, Endpoint]] = {}
    for subset in endpoints.subsets or ():
        ports = canonical(
            EndpointPort(p.name, p.port, p.protocol or "TCP", p.app_protocol) for p in subset.ports or ()
        )
        for address, ready in _addresses(subset):
            endpoint = _endpoint(address, ready)
            group = groups.setdefault((family_of(address.ip), ports), {})
            group[identity(endpoint)] = endpoint
    # IPv4 before IPv6, whatever subset came first.
    return {key: groups[key] for key in sorted(groups, key=lambda k: (IPV4, IPV6).index(k[0]))}


def _addresses(subset: EndpointSubset) -> Iterable[tuple[EndpointAddress, bool]]:
    """Ready ones first; an address in both lists ends up not ready."""
    listed = [(address, True) for address in subset.addresses or ()]
    listed += [(address, False) for address in subset.not_ready_addresses or ()]
    return listed[:MAX_PER_SUBSET]


def _endpoint(address: EndpointAddress, ready: bool) -> Endpoint:
    return Endpoint(
        addresses=[address.ip],
        conditions=EndpointConditions(ready=ready),
        hostname=address.hostname or None,
        node_name=address.node_name,
        target_ref=address.target_ref,
    )
