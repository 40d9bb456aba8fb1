"""What of an object a write is about: the object itself or one of its subresources.

Each part says what it leaves as it was, what it checks, and which fields nobody comes to own by writing it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from fairway.api.apply.fieldset import FieldSet, union
from fairway.api.kind import Kind, Obj
from fairway.api.resources import Resource
from fairway.api.schema.shape import shape_of
from fairway.api.validation.fields import ErrorList


def _keep_all(kind: Kind, new: Obj, old: Obj) -> None:
    pass


def _accept(kind: Kind, new: Obj, old: Obj) -> ErrorList:
    return []


def _say_nothing(kind: Kind, new: Obj, old: Obj) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Part:
    subresource: str = ""
    prepare: Callable[[Kind, Obj, Obj], None] = _keep_all
    validate: Callable[[Kind, Obj, Obj], ErrorList] = _accept
    warn: Callable[[Kind, Obj, Obj], list[str]] = _say_nothing
    changes_desired: bool = False
    """Whether the desired state may change: then generation counts, and what it needs is allocated or
    freed."""

    def ignored(self, kind: Kind) -> FieldSet:
        """Fields that this part passes over."""
        if self.subresource == "status":
            assert kind.status is not None
            return _all_but_status(kind.resource, kind.status.keeps)
        return _STATUS if kind.status else {}


_STATUS: FieldSet = {"f:status": {}}


@cache
def _all_but_status(resource: Resource, kept: tuple[str, ...]) -> FieldSet:
    fields = shape_of(resource.api_version, resource.kind).fields
    ignored: FieldSet = {
        f"f:{name}": {} for name in fields if name not in ("metadata", "status", "kind", "apiVersion")
    }
    for name in kept:
        ignored = union(ignored, {"f:metadata": {f"f:{name}": {}}})
    return ignored


def prepare_main(kind: Kind, new: Obj, old: Obj) -> None:
    """A main write never changes status."""
    if kind.status:
        if "status" in old:
            new["status"] = old["status"]
        else:
            new.pop("status", None)
    kind.prepare_update(new, old)


def prepare_status(kind: Kind, new: Obj, old: Obj) -> None:
    """A status write changes status and what users may write in metadata, nothing else."""
    assert kind.status is not None
    for name in {**new, **old}:
        if name not in ("metadata", "status", "kind", "apiVersion"):
            _restore(new, old, name)
    for name in kind.status.keeps:
        _restore(new["metadata"], old["metadata"], name)
    kind.status.prepare_update(new, old)


def _restore(new: Obj, old: Obj, name: str) -> None:
    if name in old:
        new[name] = old[name]
    else:
        new.pop(name, None)


def _validate_main(kind: Kind, new: Obj, old: Obj) -> ErrorList:
    return kind.validate_update(new, old)


def _validate_status(kind: Kind, new: Obj, old: Obj) -> ErrorList:
    return kind.status.validate_update(new, old) if kind.status else []


def _update_warnings(kind: Kind, new: Obj, old: Obj) -> list[str]:
    return kind.update_warnings(new, old) if kind.update_warnings else kind.warnings(new)


def _status_warnings(kind: Kind, new: Obj, old: Obj) -> list[str]:
    return kind.status.warnings(new) if kind.status else []


MAIN = Part("", prepare_main, _validate_main, _update_warnings, changes_desired=True)
STATUS = Part("status", prepare_status, _validate_status, _status_warnings)


def part_of(subresource: str) -> Part:
    return STATUS if subresource == "status" else MAIN


def unjudged(part: Part) -> Part:
    """For what the server itself writes."""
    return replace(part, validate=_accept)
