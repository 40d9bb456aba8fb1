"""What the API server is known to hold: an informer's copy plus our own writes it has not shown yet.

An informer lags behind the server, so a controller that looked only there would create its replicas twice.
The answer to every write goes in here at once, and makes way when the informer has caught up with it.
Listeners hear of both, so one controller's write wakes the next without waiting for the watch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from fairway.api.objects import ObjectMeta


class Item(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=Item)
Listener = Callable[[str, T | None, T | None], object]

# No watch is this late. Longer, and the server has started over with older revisions: believe it, not us.
PATIENCE = 60.0


class Source(Protocol[T]):
    """The part of an informer a cache needs."""

    def get(self, key: str) -> T | None: ...

    def keep(self, key: str, twin: T) -> None: ...

    def on_change(self, callback: Callable[[str, T | None, T | None], object]) -> None: ...

    @property
    def resource_version(self) -> int: ...


@dataclass(frozen=True, slots=True)
class _Ahead:
    """We know better than the informer until it shows this revision of the object, or a later one."""

    revision: int
    until: float


class Index(Generic[T]):
    """Finds objects by what `keys_of` says of them."""

    def __init__(self, keys_of: Callable[[T], Iterable[str]]) -> None:
        self._keys_of = keys_of
        self._found: dict[str, dict[str, T]] = {}

    def __getitem__(self, value: str) -> list[T]:
        return list(self._found.get(value, {}).values())

    def update(self, key: str, old: T | None, new: T | None) -> None:
        before = frozenset(self._keys_of(old)) if old is not None else frozenset[str]()
        after = frozenset(self._keys_of(new)) if new is not None else frozenset[str]()
        for value in before - after:
            bucket = self._found[value]
            bucket.pop(key, None)
            if not bucket:
                del self._found[value]
        if new is not None:
            for value in after:
                self._found.setdefault(value, {})[key] = new


class Cache(Generic[T]):
    def __init__(self, source: Source[T], type_: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self.type = type_
        self._source = source
        self._clock = clock
        self._items: dict[str, T] = {}
        self._ahead: dict[str, _Ahead] = {}
        self._compared = -1  # the informer's revision when we last looked who is ahead
        self._indexes: list[Index[T]] = []
        self._listeners: list[Listener[T]] = []
        source.on_change(self._changed)

    # ---- reading ----

    def get(self, key: str) -> T | None:
        self._catch_up()
        return self._items.get(key)

    def __iter__(self) -> Iterator[T]:
        self._catch_up()
        return iter(list(self._items.values()))

    def index(self, keys_of: Callable[[T], Iterable[str]]) -> Callable[[str], list[T]]:
        """A look-up of all objects for which `keys_of` returns a value."""
        index = Index(keys_of)
        for key, item in self._items.items():
            index.update(key, None, item)
        self._indexes.append(index)

        def look_up(value: str) -> list[T]:
            self._catch_up()
            return index[value]

        return look_up

    def on_change(self, listener: Listener[T]) -> None:
        self._listeners.append(listener)
        for key, item in list(self._items.items()):
            listener(key, None, item)

    # ---- our own writes ----

    def wrote(self, item: T) -> None:
        """The server's answer to a create or a patch."""
        key, revision = item.metadata.key, _revision(item)
        if self._seen(key, revision):
            return
        self._go_ahead(key, revision)
        self._set(key, item)

    def assume(self, item: T) -> None:
        """A change the server will not show us itself (a binding); any later event of the object ends it."""
        key = item.metadata.key
        revision = _revision(item) + 1
        if not self._seen(key, revision):
            self._go_ahead(key, revision)
            self._set(key, item)

    def doubt(self, key: str) -> None:
        """What was assumed did not come true: believe the informer again."""
        if self._ahead.pop(key, None) is not None:
            self._set(key, self._source.get(key))

    def gone(self, key: str, uid: str) -> None:
        """A delete after which nothing is left of the object."""
        item = self._items.get(key)
        if item is not None and item.metadata.uid == uid:
            self._go_ahead(key, _revision(item) + 1)
            self._set(key, None)

    def _go_ahead(self, key: str, revision: int) -> None:
        self._ahead.pop(key, None)  # the most patient last
        self._ahead[key] = _Ahead(revision, self._clock() + PATIENCE)

    # ---- the informer's side ----

    def _changed(self, key: str, _old: T | None, new: T | None) -> None:
        ahead = self._ahead.get(key)
        if ahead is not None:
            if not self._seen(key, ahead.revision):
                return
            del self._ahead[key]
            ours = self._items.get(key)
            if ours is not None and ours == new:
                self._source.keep(key, ours)
                return
        self._set(key, new)

    def _seen(self, key: str, revision: int) -> bool:
        """Whether the informer's copy is as new as `revision` of this object."""
        shown = self._source.get(key)
        return (_revision(shown) if shown is not None else self._source.resource_version) >= revision

    def _catch_up(self) -> None:
        """For writes whose event never comes: made and deleted again while the informer was cut off."""
        if not self._ahead:
            return
        now, revision = self._clock(), self._source.resource_version
        if revision == self._compared and now < next(iter(self._ahead.values())).until:
            return
        self._compared = revision
        for key, ahead in list(self._ahead.items()):
            if self._seen(key, ahead.revision) or now >= ahead.until:
                del self._ahead[key]
                self._set(key, self._source.get(key))

    def _set(self, key: str, new: T | None) -> None:
        old = self._items.get(key)
        if old == new:
            return
        if new is None:
            del self._items[key]
        else:
            self._items[key] = new
        for index in self._indexes:
            index.update(key, old, new)
        for listener in self._listeners:
            listener(key, old, new)


def _revision(item: Item) -> int:
    text = item.metadata.resource_version
    return int(text) if text.isdecimal() else 0
