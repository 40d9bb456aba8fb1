"""What a deletion does to an object that may yet stay for a while: grace, finalizers, marks. Pure.

Only kinds with a grace period (Pods) are marked before they go; others are marked only if finalizers hold
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from fairway.api.errors import StatusError, conflict
from fairway.api.kind import Kind, Obj
from fairway.api.metadata import mark_deleted, timestamp
from fairway.api.resources import NAMESPACES, Resource
from fairway.api.schema.timestamps import parse

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
IMMORTAL: Final = ("default", "kube-system", "kube-public")
"""Namespaces without which there is no cluster."""


@dataclass(frozen=True, slots=True)
class Options:
    grace: int | None = None
    propagation: str = ""
    orphan: bool | None = None
    """`orphanDependents`, from before there was `propagationPolicy`."""
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False
    unsafe: bool = False
    """`ignoreStoreReadErrorWithClusterBreakingPotential`."""


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next: write the marked object, then take it away; or leave it at that."""

    marked: Obj | None
    remove: bool


def next_step(kind: Kind, obj: Obj, options: Options, now: datetime) -> Step:
    """How to go on with deleting an object as it is; changes `obj`."""
    if kind.resource == NAMESPACES and not obj["metadata"].get("deletionTimestamp"):
        return _end_namespace(obj, options, now)
    if kind.resource == NAMESPACES and (obj.get("spec") or {}).get("finalizers"):
        return Step(None, remove=False)
    metadata = obj["metadata"]
    pending = _give_grace(kind, obj, options, now)
    if pending is None:
        return Step(None, remove=False)
    held = metadata.get("finalizers") or []
    finalizers = _finalizers(kind, held, options)
    if not (pending or held or finalizers):
        return Step(None, remove=True)
    _set_finalizers(metadata, finalizers)
    if finalizers and not _has_grace(kind):
        _mark_held(metadata, now)
    graceful = _has_grace(kind) and metadata.get("deletionGracePeriodSeconds", 0) > 0
    return Step(obj, remove=not finalizers and not graceful)


def _has_grace(kind: Kind) -> bool:
    return kind.graceful is not None


def _give_grace(kind: Kind, obj: Obj, options: Options, now: datetime) -> bool | None:
    """Mark an object that gets some time to end; whether it was marked now. None: it is ending, and has time
    still."""
    if kind.graceful is None:
        return False
    metadata = obj["metadata"]
    asked = options.grace if options.grace is None or options.grace >= 0 else 1
    if not metadata.get("deletionTimestamp"):
        mark_deleted(metadata, now, kind.graceful(obj, asked))
        return True
    left = metadata.get("deletionGracePeriodSeconds") or 0
    if left == 0:
        return False
    if asked is None or asked >= left:
        return None
    begun = parse(metadata["deletionTimestamp"]) - timedelta(seconds=left)
    metadata["deletionTimestamp"] = timestamp(begun + timedelta(seconds=asked))
    metadata["deletionGracePeriodSeconds"] = asked
    return True


def _mark_held(metadata: Obj, now: datetime) -> None:
    known = metadata.get("deletionTimestamp")
    mark_deleted(metadata, now, 0)
    if known and known < metadata["deletionTimestamp"]:
        metadata["deletionTimestamp"] = known


def _set_finalizers(metadata: Obj, finalizers: list[str]) -> None:
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)


def _finalizers(kind: Kind, held: list[str], options: Options) -> list[str]:
    """With the one that makes the garbage collector do as asked, unless the same are there already."""
    wanted = _dependents(kind, held, options)
    finalizers = [each for each in held if each not in (ORPHAN, FOREGROUND)]
    if wanted == "Orphan":
        finalizers.append(ORPHAN)
    elif wanted == "Foreground":
        finalizers.append(FOREGROUND)
    return held if set(finalizers) == set(held) else finalizers


def _dependents(kind: Kind, held: list[str], options: Options) -> str:
    """What is to become of the dependents: as the client says, as the object says, as is usual."""
    if not kind.dependents:
        return ""
    if options.orphan is not None:
        return "Orphan" if options.orphan else "Background"
    if options.propagation:
        return options.propagation
    if ORPHAN in held:
        return "Orphan"
    return "Foreground" if FOREGROUND in held else kind.dependents


def _end_namespace(obj: Obj, options: Options, now: datetime) -> Step:
    """A namespace only begins to end here; what is in it goes first."""
    metadata = obj["metadata"]
    metadata["deletionTimestamp"] = timestamp(now)
    obj.setdefault("status", {})["phase"] = "Terminating"
    held = metadata.get("finalizers") or []
    wanted = "Orphan" if options.orphan else options.propagation
    finalizers = [each for each in held if each not in (ORPHAN, FOREGROUND)]
    if wanted == "Orphan" or (not wanted and options.orphan is None and ORPHAN in held):
        finalizers.append(ORPHAN)
    if wanted == "Foreground" or (not wanted and options.orphan is None and FOREGROUND in held):
        finalizers.append(FOREGROUND)
    _set_finalizers(metadata, finalizers)
    return Step(obj, remove=False)


def demand(resource: Resource, obj: Obj, options: Options) -> None:
    """409 unless the object is the one the client means."""
    metadata = obj["metadata"]
    if options.uid and options.uid != metadata["uid"]:
        raise _mismatch(
            resource,
            metadata["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record"
            f" ({metadata['uid']}). The object might have been deleted and then recreated",
        )
    if options.resource_version not in ("", metadata["resourceVersion"]):
        raise _mismatch(
            resource,
            metadata["name"],
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the"
            f" ResourceVersion in record ({metadata['resourceVersion']})."
            " The object might have been modified",
        )


def _mismatch(resource: Resource, name: str, why: str) -> StatusError:
    return conflict(Resource(resource.group, resource.version, resource.kind, resource.kind), name, why)


def is_finished(kind: Kind, obj: Obj) -> bool:
    """Marked as deleted and nothing holds it any more."""
    metadata = obj["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if kind.resource == NAMESPACES and (obj.get("spec") or {}).get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")
