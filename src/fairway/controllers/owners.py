"""Who controls an object: controller references, adopting orphans, releasing what no longer matches.

Pure: the writes are returned, never made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from fairway.api.objects import ObjectMeta, OwnerReference
from fairway.api.resources import Resource
from fairway.controllers.selectors import LabelSelector
from fairway.controllers.writes import Patch


class Owned(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=Owned)
T_co = TypeVar("T_co", bound=Owned, covariant=True)


def controller_of(meta: ObjectMeta) -> OwnerReference | None:
    """The one owner that manages the object, if any."""
    return next((ref for ref in meta.owner_references or () if ref.controller), None)


def is_controlled_by(meta: ObjectMeta, uid: str) -> bool:
    owner = controller_of(meta)
    return owner is not None and owner.uid == uid


def controller_reference(resource: Resource, owner: ObjectMeta) -> OwnerReference:
    return OwnerReference(
        api_version=resource.api_version,
        kind=resource.kind,
        name=owner.name,
        uid=owner.uid,
        controller=True,
        block_owner_deletion=True,
    )


@dataclass(frozen=True, slots=True)
class Claim(Generic[T_co]):
    """What an owner has, what it should take, and what it should let go."""

    owned: tuple[T_co, ...]
    adopt: tuple[T_co, ...]
    release: tuple[T_co, ...]


def claim(owner: ObjectMeta, selector: LabelSelector, candidates: Iterable[T]) -> Claim[T]:
    """Sorts candidates of the owner's namespace by what the owner has to do with them."""
    owned: list[T] = []
    adopt: list[T] = []
    release: list[T] = []
    alive = owner.deletion_timestamp is None
    for item in candidates:
        reference = controller_of(item.metadata)
        matches = selector.matches(item.metadata.labels)
        if reference is not None and reference.uid == owner.uid:
            if matches:
                owned.append(item)
            elif alive:
                release.append(item)
        elif reference is None and matches and alive and item.metadata.deletion_timestamp is None:
            adopt.append(item)
    return Claim(tuple(owned), tuple(adopt), tuple(release))


def adoption(resource: Resource, item: ObjectMeta, owner: OwnerReference) -> Patch:
    return _owners_patch(resource, item, [*(item.owner_references or ()), owner])


def release(resource: Resource, item: ObjectMeta, uid: str) -> Patch:
    return _owners_patch(resource, item, [r for r in item.owner_references or () if r.uid != uid])


def _owners_patch(resource: Resource, item: ObjectMeta, owners: list[OwnerReference]) -> Patch:
    # The resourceVersion turns a concurrent change of owners into a conflict instead of a lost reference.
    metadata: dict[str, Any] = {"resourceVersion": item.resource_version, "ownerReferences": owners or None}
    return Patch(resource, item.namespace, item.name, {"metadata": metadata})
