"""What a kind is: the declarations from which the whole REST behaviour of a resource follows.

A kind is one small file in `api/kinds`: names, defaults, validation, selectable fields. There is no
per-kind code path in the API server; what differs between kinds is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairway.api.resources import Resource
from fairway.api.validation.fields import ErrorList
from fairway.api.validation.names import NameErrors, subdomain_name

Obj = dict[str, Any]


def _nothing(new: Obj) -> None:
    pass


def _nothing_on_update(new: Obj, old: Obj) -> None:
    pass


def _no_errors(new: Obj) -> ErrorList:
    return []


def _no_update_errors(new: Obj, old: Obj) -> ErrorList:
    return []


@dataclass(frozen=True, slots=True)
class Status:
    """The /status subresource: writes change status, labels and annotations, never the spec."""

    validate_update: Callable[[Obj, Obj], ErrorList] = _no_update_errors
    prepare_update: Callable[[Obj, Obj], None] = _nothing_on_update
    warnings: Callable[[Obj], list[str]] = lambda new: []
    keeps: tuple[str, ...] = ()
    """Metadata that a write of the status leaves as it is, besides the system's own."""


@dataclass(frozen=True, slots=True)
class Face:
    """Another form, in another group, in which the objects of a resource are served. All rules of the kind
    are about the stored form."""

    of: Resource
    outward: Callable[[Obj], Obj]
    inward: Callable[[Obj], Obj]


@dataclass(frozen=True, slots=True)
class Scale:
    """The /scale subresource of a workload: where the replicas and the selector stand."""

    selector: Callable[[Obj], str]


@dataclass(frozen=True, slots=True)
class Subresource:
    """A subresource that the API server answers by code of its own, as discovery lists it."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


READ_WRITE = ("get", "patch", "update")
ANY_METHOD = ("create", "delete", "get", "patch", "update")
EVERY_VERB = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Kind:
    resource: Resource
    default: Callable[[Obj], None] = _nothing
    prepare_create: Callable[[Obj], None] = _nothing
    prepare_update: Callable[[Obj, Obj], None] = _nothing_on_update
    validate: Callable[[Obj], ErrorList] = _no_errors
    validate_update: Callable[[Obj, Obj], ErrorList] = _no_update_errors
    warnings: Callable[[Obj], list[str]] = lambda new: []
    """What a client is told about an object that was accepted."""
    update_warnings: Callable[[Obj, Obj], list[str]] | None = None
    """The same for a change, where it is not just `warnings` of the new object."""
    deprecation: str = ""
    """What every client of the resource is told, whatever it asks."""
    status: Status | None = None
    scale: Scale | None = None
    fields: Mapping[str, Callable[[Obj], str]] = field(default_factory=dict)
    generation: bool = False
    """Whether metadata.generation counts changes of the desired state (everything but metadata, status)."""
    create_on_update: bool = False
    unconditional_update: bool = True
    returns_deleted: bool = False
    """Whether DELETE answers with the object instead of a Status."""
    graceful: Callable[[Obj, int | None], int] | None = None
    """Seconds of grace on deletion, given those a client asks for; None for kinds that go at once."""
    name_errors: NameErrors = subdomain_name
    """What is wrong with a name (or, if the flag is set, with the prefix of one)."""
    dependents: str = "Background"
    """What happens to an object's dependents unless the client says: `Background`, `Orphan`, or `""` if it
    can't have any."""
    face: Face | None = None
    stored: bool = True
    """Whether there are objects of the kind at all; reviews, for one, are only answered."""
    verbs: tuple[str, ...] = EVERY_VERB
    extra: tuple[Subresource, ...] = ()

    def subresources(self) -> list[Subresource]:
        """All subresources, in the order of their names."""
        found = [*self.extra]
        if self.status:
            found.append(Subresource("status", self.resource.kind, READ_WRITE))
        if self.scale:
            found.append(Subresource("scale", "Scale", READ_WRITE, "autoscaling", "v1"))
        return sorted(found, key=lambda subresource: subresource.name)
