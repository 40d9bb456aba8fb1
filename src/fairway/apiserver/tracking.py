"""Keeping note of who owns which field, in the form that the written kind has for its clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fairway.api.apply import track_creation, track_update
from fairway.api.kind import Kind, Obj
from fairway.apiserver.parts import MAIN, Part

Track = Callable[[Kind, Part, Obj, Obj, str], None]
"""Sets the managedFields of the new object; given the kind, the part written, the new and the old object, the
time."""

OURSELVES: Final = "kube-apiserver"
"""Who owns what the server writes of its own accord."""


def note_creation(kind: Kind, obj: Obj, manager: str, now: str) -> None:
    shown = _shown(kind, obj)
    track_creation(kind.resource, shown, manager, now, MAIN.ignored(kind))
    _note(obj, shown)


def noted_as(manager: str) -> Track:
    """Changes belong to whoever makes them."""

    def note(kind: Kind, part: Part, new: Obj, old: Obj, now: str) -> None:
        shown, before = _shown(kind, new), _shown(kind, old)
        track_update(kind.resource, shown, before, manager, now, part.ignored(kind), part.subresource)
        _note(new, shown)
        keep_idle_times(new, old)

    return note


def note_nothing(kind: Kind, part: Part, new: Obj, old: Obj, now: str) -> None:
    """For writes that change no one's ownership."""


def _shown(kind: Kind, obj: Obj) -> Obj:
    return kind.face.outward(obj) if kind.face else obj


def _note(obj: Obj, shown: Obj) -> None:
    if obj is not shown:
        entries = shown["metadata"].get("managedFields")
        obj["metadata"].pop("managedFields", None)
        if entries:
            obj["metadata"]["managedFields"] = entries


def keep_idle_times(new: Obj, old: Obj) -> None:
    """If nothing but the times of ownership would change, nothing does: the write is none then."""
    entries, before = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if not entries or not before or entries == before or _timeless(entries) != _timeless(before):
        return
    if _content(new) == _content(old):
        new["metadata"]["managedFields"] = before


def _timeless(entries: list[Obj]) -> list[Obj]:
    plain = [{name: value for name, value in entry.items() if name != "time"} for entry in entries]
    return sorted(
        plain, key=lambda entry: str([entry.get(name) for name in ("manager", "operation", "subresource")])
    )


def _content(obj: Obj) -> Obj:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    rest = {name: value for name, value in obj.items() if name not in ("metadata", "kind", "apiVersion")}
    return {"metadata": metadata, **rest}


def same(new: Obj, old: Obj) -> bool:
    """Whether nothing would change at all, ownership included."""
    ignored = ("kind", "apiVersion")
    return {k: v for k, v in new.items() if k not in ignored} == {
        k: v for k, v in old.items() if k not in ignored
    }
