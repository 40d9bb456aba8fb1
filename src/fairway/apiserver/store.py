"""All objects in memory, kept current from the storage backend; the way in for every write.

Reads take nothing from the backend; one that others write to, too, is only asked how far it is. A write
returns once it is durable *and* visible here, so that whoever is answered can read what they wrote.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

import structlog

from fairway.api.errors import unavailable
from fairway.api.kind import Kind
from fairway.api.resources import Resource
from fairway.apiserver.entry import Entry
from fairway.apiserver.feed import ADDED, DELETED, MODIFIED, Event, Feed
from fairway.storage.backend import MARKER, Backend, Change, Compare, Operation, Put, Unavailable

log = structlog.get_logger()

ROOT = "/registry/"
ALLOCATIONS = "/allocations/"
CATCH_UP_SECONDS = 0.1


class Bucket:
    """The objects of one resource, by `namespace/name` (or `name`)."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.prefix = f"{ROOT}{kind.resource.group or 'core'}/{kind.resource.plural}/"
        self.entries: dict[str, Entry] = {}
        self.feed = Feed()
        self._order: list[str] | None = None

    def key(self, namespace: str, name: str) -> str:
        return f"{namespace}/{name}" if namespace else name

    def storage_key(self, key: str) -> str:
        return self.prefix + key

    def in_order(self, namespace: str = "") -> Iterator[Entry]:
        """Entries sorted by key, of one namespace or of all."""
        if self._order is None:
            self._order = sorted(self.entries)
        if not namespace:
            return map(self.entries.__getitem__, self._order)
        low = bisect_left(self._order, f"{namespace}/")
        high = bisect_left(self._order, f"{namespace}0")  # "0" follows "/"
        return map(self.entries.__getitem__, self._order[low:high])

    def at(self, revision: int, namespace: str = "") -> list[Entry]:
        """Entries as they were at a revision that the window of events still reaches back to, sorted by
        key."""
        before: dict[str, Entry | None] = {}
        for event in self.feed.since(revision):
            if not namespace or event.entry.namespace == namespace:
                before.setdefault(event.entry.key, event.previous)
        if not before:
            return list(self.in_order(namespace))
        now = {entry.key: entry for entry in self.in_order(namespace)}
        then = {**now, **before}
        return [entry for _, entry in sorted(then.items()) if entry is not None]

    def apply(self, change: Change, *, announce: bool = True) -> None:
        key = change.key[len(self.prefix) :]
        previous = self.entries.get(key)
        if change.value is None:
            if previous is None:
                return
            del self.entries[key]
            self._order = None
            event = Event(DELETED, previous.at(change.revision), previous)
        else:
            entry = Entry(key, change.value, change.revision, change.created)
            self.entries[key] = entry
            if previous is None:
                self._order = None
            event = Event(MODIFIED if previous else ADDED, entry, previous)
        if announce:
            self.feed.publish(event)


class Store:
    """Every bucket, and the revision up to which all of them are current."""

    def __init__(self, backend: Backend, kinds: Iterable[Kind]) -> None:
        self._backend = backend
        kinds = list(kinds)
        stored = [kind for kind in kinds if kind.stored and kind.face is None]
        self._buckets: dict[Resource, Bucket] = {kind.resource: Bucket(kind) for kind in stored}
        self._by_prefix = {bucket.prefix: bucket for bucket in self._buckets.values()}
        for kind in kinds:
            if kind.face:
                self._buckets[kind.resource] = self._buckets[kind.face.of]
        self.allocations: dict[str, int] = {}
        """Keys under /allocations/ and their revisions."""
        self.revision = 0
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []
        self._follower: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Load the oldest state still known, then every change since, so that watches can resume."""
        await self._backend.open()
        start = self._backend.compacted
        for record in (await self._backend.range("", revision=start)).records if start else []:
            self._apply(Change(record.revision, record.key, record.value, record.created), False)
        self.revision = start
        for bucket in self._by_prefix.values():
            bucket.feed.oldest = start
        self._follower = asyncio.create_task(self._follow(start))
        await self.reached(self._backend.revision)

    async def following(self) -> None:
        """Goes on for ever; raises if the backend can't be followed any more, as all reads are stale then."""
        assert self._follower, "open comes first"
        await asyncio.shield(self._follower)

    def end_watches(self) -> None:
        for bucket in self._by_prefix.values():
            bucket.feed.close()

    async def close(self) -> None:
        if self._follower:
            self._follower.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._follower
        await self._backend.close()

    def bucket(self, resource: Resource) -> Bucket:
        return self._buckets[resource]

    async def transact(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> int:
        try:
            revision = await self._backend.transact(compares, operations)
        except Unavailable as error:
            raise unavailable(str(error)) from error
        await self.reached(revision)
        return revision

    async def reached(self, revision: int) -> None:
        """Wait until everything up to a revision is visible here."""
        if self.revision >= revision:
            return
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiters, (revision, id(future), future))
        await future

    async def catch_up(self) -> None:
        """Wait until all that was committed before now is visible here, whoever wrote it."""
        if not self._backend.shared:
            return
        try:
            latest = await self._backend.latest()
            async with asyncio.timeout(CATCH_UP_SECONDS):
                await self.reached(latest)
        except TimeoutError:
            # What has that revision may be no business of ours; what we write now will be seen for certain.
            await self.transact([], [Put(MARKER, b"")])
        except Unavailable as error:
            raise unavailable(str(error)) from error

    async def advance(self) -> None:
        """Wait for the next write to become visible, but not for long: it may yet fail."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.reached(self.revision + 1), 0.05)

    async def compact(self, revision: int) -> None:
        await self._backend.compact(revision)
        for bucket in self._by_prefix.values():
            bucket.feed.forget(revision)

    async def _follow(self, start: int) -> None:
        async for changes in self._backend.watch("", start):
            for change in changes:
                self._apply(change, True)
            self.revision = changes[-1].revision
            while self._waiters and self._waiters[0][0] <= self.revision:
                future = heapq.heappop(self._waiters)[2]
                if not future.done():
                    future.set_result(None)

    def _apply(self, change: Change, announce: bool) -> None:
        key = change.key
        if key.startswith(ALLOCATIONS):
            if change.value is None:
                self.allocations.pop(key, None)
            else:
                self.allocations[key] = change.revision
            return
        if not key.startswith(ROOT):
            return
        end = key.find("/", key.find("/", len(ROOT)) + 1) + 1
        bucket = self._by_prefix.get(key[:end])
        if bucket is None:
            log.warning("key of an unknown resource", key=key)
        else:
            bucket.apply(change, announce=announce)
