"""What garbage collection does about one object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from msgspec.structs import replace

from fairway.api.objects import OwnerReference
from fairway.controllers.garbagecollector.graph import FOREGROUND, ORPHAN, Thing
from fairway.controllers.writes import Delete, Patch, Write


class Owner(Enum):
    """How an owner stands: there, gone, or waiting for its dependents to go first."""

    SOLID = "solid"
    GONE = "gone"
    WAITING = "waiting"


def plan(
    thing: Thing, owners: Sequence[tuple[OwnerReference, Owner]], dependents: Sequence[Thing]
) -> list[Write]:
    """`owners` pairs each of the object's owner references with how that owner stands."""
    if thing.is_going:
        return _plan_going(thing, dependents)
    if not owners:
        return []
    lost = [ref for ref, state in owners if state is not Owner.SOLID]
    if len(lost) < len(owners):
        return [_without_owners(thing, lost)] if lost else []
    waiting = any(state is Owner.WAITING for _, state in owners)
    circle = waiting and any(dependent.waits_for_dependents for dependent in dependents)
    unblocked = [_unblocking(thing)] if circle and any(r.block_owner_deletion for r, _ in owners) else []
    return [*unblocked, _deletion(thing, foreground=waiting and bool(dependents), changed=bool(unblocked))]


def _plan_going(thing: Thing, dependents: Sequence[Thing]) -> list[Write]:
    if thing.has(ORPHAN):
        freed = [_without_owner(dependent, thing.meta.uid) for dependent in dependents]
        return [*freed, _without_finalizer(thing, ORPHAN)]
    if thing.has(FOREGROUND) and not blocking(thing, dependents):
        return [_without_finalizer(thing, FOREGROUND)]
    return []


def blocking(owner: Thing, dependents: Iterable[Thing]) -> list[Thing]:
    """The dependents that a foreground deletion waits for."""
    return [
        d
        for d in dependents
        if any(ref.uid == owner.meta.uid and ref.block_owner_deletion for ref in d.owners)
    ]


def _unblocking(thing: Thing) -> Patch:
    """In a circle of owners each would wait for the next for ever: this one no longer holds up its owners."""
    return _metadata(
        thing, {"ownerReferences": [replace(r, block_owner_deletion=False) for r in thing.owners]}
    )


def _deletion(thing: Thing, *, foreground: bool, changed: bool) -> Delete:
    """How a dependent goes was decided when it was made, by its finalizers; else as its owner does."""
    if foreground or thing.has(FOREGROUND):
        policy = "Foreground"
    else:
        policy = "Orphan" if thing.has(ORPHAN) else "Background"
    meta = thing.meta
    # The resourceVersion makes sure that nobody gave it another owner meanwhile.
    revision = "" if changed else meta.resource_version
    return Delete(thing.resource, meta.namespace, meta.name, meta.uid, revision, policy)


def _without_owners(thing: Thing, lost: Sequence[OwnerReference]) -> Patch:
    kept = [ref for ref in thing.owners if ref not in lost]
    return _metadata(thing, {"ownerReferences": kept or None})


def _without_owner(thing: Thing, uid: str) -> Patch:
    return _without_owners(thing, [ref for ref in thing.owners if ref.uid == uid])


def _without_finalizer(thing: Thing, finalizer: str) -> Patch:
    kept = [name for name in thing.meta.finalizers or () if name != finalizer]
    return _metadata(thing, {"finalizers": kept or None})


def _metadata(thing: Thing, changes: dict[str, Any]) -> Patch:
    meta = thing.meta
    metadata = {"resourceVersion": meta.resource_version, **changes}
    return Patch(thing.resource, meta.namespace, meta.name, {"metadata": metadata})
