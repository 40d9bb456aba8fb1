"""What the in-process stores share: giving out revisions, checking compares, feeding watches.

A transaction is checked and numbered at once, on the event loop; making it durable is the subclass's
`_commit`, which may batch. Changes become visible, and the writer is answered, only once durable.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from fairway.storage.backend import (
    Change,
    Compacted,
    Compare,
    CompareFailed,
    Operation,
    Page,
    Put,
    Record,
    Unavailable,
)


class Stamp(NamedTuple):
    revision: int
    created: int


ABSENT = Stamp(0, 0)


class Pending(NamedTuple):
    """A numbered transaction on its way to the disk."""

    changes: list[Change]
    done: asyncio.Future[int]


class LocalBackend(ABC):
    """A store that lives in this process and is its only writer."""

    def __init__(self) -> None:
        self._stamps: dict[str, Stamp] = {}
        self._pending: dict[str, tuple[int, Stamp]] = {}
        self._next = 1
        self._revision = 0
        self._compacted = 0
        self._feeds: set[asyncio.Queue[list[Change] | None]] = set()

    shared = False

    async def latest(self) -> int:
        return self._revision

    # -- what a subclass provides ----------------------------------------------------------------------

    @abstractmethod
    async def open(self) -> None: ...

    @abstractmethod
    async def get(self, key: str) -> Record | None: ...

    @abstractmethod
    async def range(self, prefix: str, *, revision: int = 0, after: str = "", limit: int = 0) -> Page: ...

    @abstractmethod
    async def compact(self, revision: int) -> None: ...

    @abstractmethod
    def _commit(self, pending: Pending) -> None:
        """Make it durable, then call `_committed` or `_failed` on the event loop, in order."""

    @abstractmethod
    async def _history(self, prefix: str, after: int, until: int) -> list[Change]:
        """Committed changes with after < revision <= until."""

    # -- the protocol ----------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        return self._revision

    @property
    def compacted(self) -> int:
        return self._compacted

    async def close(self) -> None:
        for feed in self._feeds:
            feed.put_nowait(None)

    async def transact(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> int:
        for compare in compares:
            if self._stamp(compare.key).revision != compare.revision:
                raise CompareFailed(compare.key)
        changes = [self._numbered(operation) for operation in operations]
        for change in changes:
            stamp = Stamp(change.revision, change.created) if change.value is not None else ABSENT
            self._pending[change.key] = (change.revision, stamp)
        pending = Pending(changes, asyncio.get_running_loop().create_future())
        self._commit(pending)
        return await asyncio.shield(pending.done)

    async def watch(self, prefix: str, after: int) -> AsyncIterator[list[Change]]:
        if after < self._compacted:
            raise Compacted(self._compacted)
        feed: asyncio.Queue[list[Change] | None] = asyncio.Queue()
        self._feeds.add(feed)
        try:
            seen = self._revision
            if past := await self._history(prefix, after, seen):
                yield past
            while (batch := await feed.get()) is not None:
                if fresh := [c for c in batch if c.revision > seen and c.key.startswith(prefix)]:
                    yield fresh
        finally:
            self._feeds.discard(feed)

    # -- numbering and publishing ----------------------------------------------------------------------

    def _stamp(self, key: str) -> Stamp:
        pending = self._pending.get(key)
        return pending[1] if pending is not None else self._stamps.get(key, ABSENT)

    def _numbered(self, operation: Operation) -> Change:
        revision, self._next = self._next, self._next + 1
        if isinstance(operation, Put):
            created = self._stamp(operation.key).created or revision
            return Change(revision, operation.key, operation.value, created)
        return Change(revision, operation.key, None, 0)

    def _committed(self, batch: Sequence[Pending]) -> None:
        changes = [change for pending in batch for change in pending.changes]
        for change in changes:
            if change.value is None:
                self._stamps.pop(change.key, None)
            else:
                self._stamps[change.key] = Stamp(change.revision, change.created)
            if self._pending.get(change.key, ABSENT)[0] == change.revision:
                del self._pending[change.key]
            self._revision = change.revision
        for feed in self._feeds:
            feed.put_nowait(changes)
        for pending in batch:
            if not pending.done.done():
                pending.done.set_result(pending.changes[-1].revision)

    def _failed(self, batch: Sequence[Pending], error: Exception) -> None:
        """`batch` is everything that was not yet durable: nothing may stand that was checked against it."""
        self._pending.clear()
        self._next = self._revision + 1
        for pending in batch:
            if not pending.done.done():
                pending.done.set_exception(Unavailable(f"the store could not write: {error}"))
