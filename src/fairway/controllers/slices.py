"""EndpointSlices as they should be, and the fewest writes that make them so.

Shared by the controllers that own slices; what should be in them is their business.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.api.objects import Endpoint, EndpointPort, EndpointSlice, ObjectMeta
from fairway.api.resources import ENDPOINT_SLICES, Resource
from fairway.controllers.owners import controller_reference, is_controlled_by
from fairway.controllers.writes import Create, Delete, Patch, Write, changed

MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
SERVICE_NAME = "kubernetes.io/service-name"

Ports = tuple[EndpointPort, ...]
Identity = tuple[tuple[str, ...], str, str, str]


@dataclass(frozen=True, slots=True)
class Draft:
    """A slice as it should be; `base` is the slice to change, None makes a new one."""

    base: EndpointSlice | None
    family: str
    ports: Ports
    endpoints: tuple[Endpoint, ...]


@dataclass(frozen=True, slots=True)
class Ownership:
    """Whose the slices are and what their metadata says.

    `annotations` are kept exactly so; None leaves them to others. `stamps` are put on a slice whenever it is
    written (None takes one off) but are no reason to write; nor are the labels named in `incidental`.
    """

    resource: Resource
    owner: ObjectMeta
    labels: Mapping[str, str]
    annotations: Mapping[str, str] | None = None
    stamps: Mapping[str, str | None] | None = None
    incidental: frozenset[str] = frozenset()

    def calls_for_labels(self, item: EndpointSlice) -> bool:
        return bool(changed(item.metadata.labels, self.labels).keys() - self.incidental)


def canonical(ports: Iterable[EndpointPort]) -> Ports:
    return tuple(
        sorted(ports, key=lambda p: (p.name or "", p.port or 0, p.protocol or "", p.app_protocol or ""))
    )


def identity(endpoint: Endpoint) -> Identity:
    """What makes an endpoint the same one although its conditions, node or zone changed."""
    ref = endpoint.target_ref
    return (
        tuple(endpoint.addresses),
        endpoint.hostname or "",
        ref.namespace if ref else "",
        ref.name if ref else "",
    )


def slice_writes(
    ownership: Ownership, drafts: Sequence[Draft], surplus: Sequence[EndpointSlice]
) -> tuple[Write, ...]:
    """Additions first: an endpoint that moves between slices is never missing from all of them."""
    drafts, surplus = _reuse(ownership.owner.uid, drafts, surplus)
    creates: list[Write] = []
    patches: list[Write] = []
    for draft in drafts:
        if draft.base is not None:
            patches += _patch(ownership, draft.base, draft)
        elif ownership.owner.deletion_timestamp is None:
            # Of an owner that is going, the garbage collector takes the slices; new ones would race with it.
            creates.append(_create(ownership, draft))
    return (*creates, *patches, *deletions(surplus))


def deletions(slices: Iterable[EndpointSlice]) -> tuple[Delete, ...]:
    metas = [item.metadata for item in slices]
    return tuple(Delete(ENDPOINT_SLICES, m.namespace, m.name, m.uid) for m in metas)


def _reuse(
    uid: str, drafts: Sequence[Draft], surplus: Sequence[EndpointSlice]
) -> tuple[list[Draft], list[EndpointSlice]]:
    """One update in place of a delete and a create: watchers never see the endpoints gone in between."""
    left = list(surplus)
    result: list[Draft] = []
    for draft in drafts:
        base = draft.base
        if base is None:
            base = next((s for s in left if _fits(s, draft, uid)), None)
            left = [s for s in left if s is not base]
        result.append(Draft(base, draft.family, draft.ports, draft.endpoints))
    return result, left


def _fits(spare: EndpointSlice, draft: Draft, uid: str) -> bool:
    return spare.address_type == draft.family and is_controlled_by(spare.metadata, uid)


def _create(ownership: Ownership, draft: Draft) -> Create:
    owner = ownership.owner
    stamps = {name: value for name, value in (ownership.stamps or {}).items() if value}
    body = {
        "apiVersion": ENDPOINT_SLICES.api_version,
        "kind": ENDPOINT_SLICES.kind,
        "metadata": {
            "generateName": f"{owner.name}-",
            "namespace": owner.namespace,
            "labels": dict(ownership.labels),
            "annotations": {**(ownership.annotations or {}), **stamps},
            "ownerReferences": [controller_reference(ownership.resource, owner)],
        },
        "addressType": draft.family,
        "ports": list(draft.ports),
        "endpoints": list(draft.endpoints),
    }
    return Create(ENDPOINT_SLICES, owner.namespace, body)


def _patch(ownership: Ownership, base: EndpointSlice, draft: Draft) -> list[Patch]:
    meta, body = base.metadata, _changed_body(base, draft)
    labels = changed(meta.labels, ownership.labels)
    annotations = {} if ownership.annotations is None else changed(meta.annotations, ownership.annotations)
    if not (body or annotations or ownership.calls_for_labels(base)):
        return []
    annotations |= {
        name: value
        for name, value in (ownership.stamps or {}).items()
        if value or name in (meta.annotations or {})
    }
    metadata: dict[str, Any] = {"resourceVersion": meta.resource_version}
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    return [Patch(ENDPOINT_SLICES, meta.namespace, meta.name, {"metadata": metadata, **body})]


def _changed_body(base: EndpointSlice, draft: Draft) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if tuple(base.endpoints or ()) != draft.endpoints:
        body["endpoints"] = list(draft.endpoints)
    if canonical(base.ports or ()) != draft.ports:
        body["ports"] = list(draft.ports)
    return body
