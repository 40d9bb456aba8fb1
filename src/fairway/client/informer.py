"""A local, always current copy of a collection, and callbacks for what changes in it.

The copy and its indexes are kept here; how the changes arrive is `list_watch`. Everything is synchronous
once a batch has arrived, so other tasks never see half of one.
"""

# ruff: noqa: A002  (`type=` is the published name of the parameter)

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

import structlog

from fairway.api.resources import Resource
from fairway.client.list_watch import Changes, ListWatch, Snapshot
from fairway.client.rest import Client

log = structlog.get_logger()
T = TypeVar("T")
OnChange: TypeAlias = Callable[[str, T | None, T | None], object]
IndexFunction: TypeAlias = Callable[[T], Iterable[str]]


class Informer(Generic[T]):
    """`run()` it in a task, wait for `synced()`, then read. Options go to `ListWatch`."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        type: builtins.type[T],
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        **options: Any,
    ) -> None:
        self.resource = resource
        self._source = ListWatch(client, resource, type, namespace, label_selector, field_selector, **options)
        self._items: dict[str, T] = {}
        self._view = MappingProxyType(self._items)
        self._handlers: list[OnChange[T]] = []
        self._indexes: dict[str, _Index[T]] = {}
        self._synced = asyncio.Event()
        self._revision = 0

    async def run(self) -> None:
        """For ever, until cancelled."""
        async with aclosing(self._source.follow()) as batches:
            async for batch in batches:
                if isinstance(batch, Snapshot):
                    self._replace(batch)
                else:
                    self._apply(batch)

    async def synced(self) -> None:
        """Returns once the first full state is here and handlers have seen it."""
        await self._synced.wait()

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    @property
    def resource_version(self) -> int:
        """The highest revision seen: everything up to it is in `items()`."""
        return self._revision

    def get(self, key: str) -> T | None:
        return self._items.get(key)

    def items(self) -> Mapping[str, T]:
        """A live view by key. Copy it before awaiting in the middle of an iteration."""
        return self._view

    def keep(self, key: str, twin: T) -> None:
        """Hold `twin`, equal to what is here, in its place: two of the same would only take room."""
        if key in self._items:
            self._items[key] = twin

    def on_change(self, callback: OnChange[T]) -> None:
        """Call `callback(key, old, new)` for every change, in order; None means it wasn't, or isn't, there.

        What is already here is told at once, so it doesn't matter when one subscribes.
        """
        self._handlers.append(callback)
        for key, obj in list(self._items.items()):
            self._tell(callback, key, None, obj)

    def add_index(self, name: str, function: IndexFunction[T]) -> None:
        """Make `by_index(name, value)` find the objects for which `function` returns that value."""
        index = self._indexes[name] = _Index(function)
        for key, obj in self._items.items():
            index.update(key, None, obj)

    def by_index(self, name: str, value: str) -> list[T]:
        return [self._items[key] for key in self._indexes[name].keys(value)]

    def _replace(self, snapshot: Snapshot[T]) -> None:
        for key in [key for key in self._items if key not in snapshot.items]:
            self._set(key, None)
        for key, obj in snapshot.items.items():
            if self._items.get(key) != obj:
                self._set(key, obj)
        # Not max(): a server restored from an older state starts over, and so must we.
        self._revision = _number(snapshot.resource_version)
        self._synced.set()

    def _apply(self, batch: Changes[T]) -> None:
        for change in batch.changes:
            self._revision = max(self._revision, _number(change.resource_version))
            self._set(change.key, change.object)
        self._revision = max(self._revision, _number(batch.resource_version))

    def _set(self, key: str, new: T | None) -> None:
        old = self._items.get(key)
        if new is not None:
            self._items[key] = new
        elif self._items.pop(key, None) is None:
            return
        for index in self._indexes.values():
            index.update(key, old, new)
        for handler in self._handlers:
            self._tell(handler, key, old, new)

    def _tell(self, handler: OnChange[T], key: str, old: T | None, new: T | None) -> None:
        try:
            handler(key, old, new)
        except Exception:
            log.exception("change handler failed", resource=self.resource.plural, key=key)


class _Index(Generic[T]):
    """Keys by value; values without keys are not kept."""

    def __init__(self, function: IndexFunction[T]) -> None:
        self._function = function
        self._keys: dict[str, dict[str, None]] = {}

    def keys(self, value: str) -> Iterable[str]:
        return self._keys.get(value, {})

    def update(self, key: str, old: T | None, new: T | None) -> None:
        before = frozenset(self._function(old)) if old is not None else frozenset()
        after = frozenset(self._function(new)) if new is not None else frozenset()
        for value in before - after:
            self._keys[value].pop(key, None)
            if not self._keys[value]:
                del self._keys[value]
        for value in after - before:
            self._keys.setdefault(value, {})[key] = None


def _number(resource_version: str) -> int:
    return int(resource_version) if resource_version.isdecimal() else 0
