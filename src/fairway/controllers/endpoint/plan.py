"""What the Endpoints object of one Service has to become."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairway.api.objects import EndpointAddress, Endpoints, EndpointSubset, Pod, Service
from fairway.api.resources import ENDPOINTS
from fairway.controllers.backends import HEADLESS_LABEL, LAST_CHANGE_TRIGGER_TIME, is_headless
from fairway.controllers.endpoint.subsets import subsets_for, truncated
from fairway.controllers.writes import Create, Delete, Patch, Plan, changed

MANAGED_BY = "endpoints.kubernetes.io/managed-by"
CONTROLLER = "endpoint-controller"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"


def plan(service: Service, pods: Iterable[Pod], current: Endpoints | None, trigger: str | None) -> Plan:
    """Pods: those the Service selects. Writes only if subsets, labels or the capacity mark differ."""
    subsets, cut = truncated(subsets_for(service, pods))
    labels = _labels(service)
    if current is None:
        return Plan((Create(ENDPOINTS, service.metadata.namespace, _object(service, subsets, cut, trigger)),))
    if _same(current, subsets, labels, cut):
        return Plan()
    old_notes = current.metadata.annotations or {}
    metadata: dict[str, Any] = {
        "resourceVersion": current.metadata.resource_version,
        "labels": changed(current.metadata.labels, labels),
        "annotations": {
            name: value
            for name, value in _annotations(cut, trigger).items()
            if value is not None or name in old_notes
        },
    }
    patch = {"metadata": metadata, "subsets": subsets or None}
    return Plan((Patch(ENDPOINTS, current.metadata.namespace, current.metadata.name, patch),))


def plan_removal(current: Endpoints | None) -> Plan:
    """The Service is gone: so are its Endpoints, also hand-made ones that bore its name."""
    if current is None:
        return Plan()
    meta = current.metadata
    return Plan((Delete(ENDPOINTS, meta.namespace, meta.name, meta.uid),))


def is_managed(endpoints: Endpoints) -> bool:
    return endpoints.metadata.label(MANAGED_BY) == CONTROLLER


def _labels(service: Service) -> dict[str, str]:
    labels = {k: v for k, v in (service.metadata.labels or {}).items() if k != HEADLESS_LABEL}
    if is_headless(service):
        labels[HEADLESS_LABEL] = ""
    return {**labels, MANAGED_BY: CONTROLLER}


def _annotations(cut: bool, trigger: str | None) -> dict[str, str | None]:
    """None takes an annotation away."""
    return {OVER_CAPACITY: "truncated" if cut else None, LAST_CHANGE_TRIGGER_TIME: trigger}


def _object(
    service: Service, subsets: list[EndpointSubset], cut: bool, trigger: str | None
) -> dict[str, Any]:
    annotations = {name: value for name, value in _annotations(cut, trigger).items() if value is not None}
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": service.metadata.name,
            "namespace": service.metadata.namespace,
            "labels": _labels(service),
            "annotations": annotations,
        },
        "subsets": subsets,
    }


def _same(current: Endpoints, subsets: list[EndpointSubset], labels: dict[str, str], cut: bool) -> bool:
    return (
        not changed(current.metadata.labels, labels).keys() - {HEADLESS_LABEL}
        and (OVER_CAPACITY in (current.metadata.annotations or {})) == cut
        and _comparable(current.subsets or []) == _comparable(subsets)
    )


def _comparable(subsets: list[EndpointSubset]) -> Sequence[object]:
    """Independent of the order in which the server or another writer keeps things."""
    return sorted(
        (
            sorted((p.name, p.port, p.protocol, p.app_protocol or "") for p in subset.ports or ()),
            sorted(_fields(a) for a in subset.addresses or ()),
            sorted(_fields(a) for a in subset.not_ready_addresses or ()),
        )
        for subset in subsets
    )


def _fields(address: EndpointAddress) -> tuple[str, ...]:
    ref = address.target_ref
    where = (address.ip, address.hostname, address.node_name or "")
    return (*where, ref.kind, ref.namespace, ref.name, ref.uid) if ref else where
