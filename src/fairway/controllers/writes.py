"""The writes a plan is made of, as values: they can be compared, printed and applied elsewhere.

Patches are JSON merge patches. Caches hold narrow views of objects, so a plan never sends a whole object
back: it names the fields it changes and, where it matters, the resourceVersion it decided on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairway.api.resources import Resource


@dataclass(frozen=True, slots=True)
class Create:
    resource: Resource
    namespace: str
    obj: dict[str, Any]
    subresource: str = ""

    @property
    def name(self) -> str:
        metadata = self.obj.get("metadata") or {}
        return str(metadata.get("name") or metadata.get("generateName", ""))


@dataclass(frozen=True, slots=True)
class Patch:
    resource: Resource
    namespace: str
    name: str
    patch: dict[str, Any]
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    resource: Resource
    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""
    propagation: str | None = None
    grace_period_seconds: int | None = None


Write = Create | Patch | Delete


@dataclass(frozen=True, slots=True)
class Notice:
    """An Event to record about the object a plan is for."""

    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write, in order; what to tell; and when to look again although nothing changed."""

    writes: tuple[Write, ...] = ()
    notices: tuple[Notice, ...] = ()
    look_again: float | None = None

    def __bool__(self) -> bool:
        return bool(self.writes)


def changed(old: Mapping[str, str] | None, new: Mapping[str, str]) -> dict[str, str | None]:
    """A merge patch that makes `old` into `new`; empty if they are the same."""
    before = old or {}
    patch: dict[str, str | None] = {key: value for key, value in new.items() if before.get(key) != value}
    return {**patch, **{key: None for key in before if key not in new}}
