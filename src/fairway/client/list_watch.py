"""Following a collection for ever: initial state, then changes, through every kind of interruption.

`ListWatch.follow` yields snapshots and changes; keeping the objects and telling handlers is for `informer`.
Watch-list is tried first; a server that refuses it, or ignores it, is read with LIST and WATCH.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

import msgspec
import structlog

from fairway.api.resources import Resource
from fairway.client.backoff import Backoff
from fairway.client.errors import ApiError, BadRequest, Expired, Invalid, error_from_status
from fairway.client.rest import Client
from fairway.client.watch_stream import Identity, WatchEvent, WatchStream, identify

log = structlog.get_logger()
T = TypeVar("T")

# As client-go asks: the server ends each watch after five to ten minutes, spread so that many clients
# don't come back at once.
_WATCH_SECONDS = 300
_GRACE_SECONDS = 30
_SHORTEST_USEFUL_WATCH = 1.0


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[T]):
    """Everything that exists at one revision; what is not in it is gone."""

    items: dict[str, T]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One object came, changed (`object` is its new state) or went (`object` is None)."""

    key: str
    object: T | None
    resource_version: str


@dataclass(frozen=True, slots=True)
class Changes(Generic[T]):
    """What came after the last snapshot, in order; empty when only the revision moved on (bookmarks)."""

    changes: list[Change[T]]
    resource_version: str


Batch: TypeAlias = Snapshot[T] | Changes[T]


class _NoWatchList(Exception):
    """The server doesn't do watch-list."""


@dataclass(slots=True)
class ListWatch(Generic[T]):
    """Where to look and what to decode into. `sleep` and `clock` are passed in by tests."""

    client: Client
    resource: Resource
    type: type[T]
    namespace: str | None = None
    label_selector: str | None = None
    field_selector: str | None = None
    use_watch_list: bool = True
    initial_events_timeout: float = 5.0
    backoff: Backoff = field(default_factory=Backoff)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = lambda: asyncio.get_running_loop().time()
    resource_version: str = ""
    _decoder: msgspec.json.Decoder[T] = field(init=False)

    def __post_init__(self) -> None:
        self._decoder = msgspec.json.Decoder(self.type)

    async def follow(self) -> AsyncGenerator[Batch[T], None]:
        """Never ends by itself and never raises ApiError: it waits and tries again."""
        while True:
            started, useful, failure = self.clock(), False, None
            try:
                async with aclosing(self._session()) as batches:
                    async for batch in batches:
                        useful = useful or not isinstance(batch, Snapshot)
                        yield batch
            except _NoWatchList:
                self.use_watch_list = False
                continue
            except (ApiError, msgspec.MsgspecError) as error:
                failure = error
            if useful or self.clock() - started >= _SHORTEST_USEFUL_WATCH:
                self.backoff.reset()
                if failure is None:
                    continue
            await self.sleep(self._delay(failure))

    def _delay(self, failure: Exception | None) -> float:
        """How long to wait, forgetting the revision if it is of no more use."""
        delay = self.backoff.next()
        if isinstance(failure, ApiError):
            delay = max(delay, failure.retry_after or 0.0)
            if _needs_relist(failure):
                self.resource_version = ""
        if failure is not None:
            log.warning(
                "watch interrupted",
                resource=self.resource.plural,
                error=str(failure),
                relist=not self.resource_version,
                retry_in=round(delay, 2),
            )
        return delay

    async def _session(self) -> AsyncGenerator[Batch[T], None]:
        """One life: a snapshot unless we have one, then changes until the stream ends or breaks."""
        if not self.resource_version and self.use_watch_list:
            async with aclosing(self._watch_list()) as batches:
                async for batch in batches:
                    yield batch
            return
        if not self.resource_version:
            yield await self._list()
        async with aclosing(self._events(resourceVersion=self.resource_version)) as batches_of_events:
            async for events in batches_of_events:
                for changes in self._changes(events):
                    yield changes

    async def _list(self) -> Snapshot[T]:
        listing = await self.client.list(
            self.resource,
            namespace=self.namespace,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            type=msgspec.Raw,
        )
        items: dict[str, T] = {}
        for raw in listing.items:
            self._keep(items, identify(raw), raw)
        self.resource_version = listing.resource_version
        return Snapshot(items, listing.resource_version)

    async def _watch_list(self) -> AsyncGenerator[Batch[T], None]:
        """Objects stream in as ADDED; a bookmark marks the end of the initial state."""
        items: dict[str, T] = {}
        params = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        async with aclosing(self._events(**params)) as stream:
            rest = await self._initial_state(stream, items)
            yield Snapshot(items, self.resource_version)
            for changes in self._changes(rest):
                yield changes
            async for events in stream:
                for changes in self._changes(events):
                    yield changes

    async def _initial_state(
        self, stream: AsyncIterator[list[WatchEvent]], items: dict[str, T]
    ) -> Iterator[WatchEvent]:
        """Fill `items`; returns the events that came in the same batch after the end of them."""
        try:
            async for events in stream:
                remaining = iter(events)
                if self._collect(items, remaining):
                    return remaining
        except (BadRequest, Invalid) as error:
            raise _NoWatchList from error
        raise _NoWatchList

    async def _events(self, **params: str) -> AsyncGenerator[list[WatchEvent], None]:
        """The events of one watch, in the batches in which they arrive."""
        seconds = _WATCH_SECONDS + random.randrange(_WATCH_SECONDS)
        params |= {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        if self.label_selector:
            params["labelSelector"] = self.label_selector
        if self.field_selector:
            params["fieldSelector"] = self.field_selector
        path, decoder = self.resource.path(self.namespace), WatchStream()
        async with self.client.stream(path, params=params, within=seconds + _GRACE_SECONDS) as chunks:
            while chunk := await self._next_chunk(chunks):
                if events := decoder.feed(chunk):
                    yield events
            if events := decoder.close():
                yield events

    async def _next_chunk(self, chunks: AsyncIterator[bytes]) -> bytes:
        """Empty at the end. Before the first snapshot, silence means the server ignores watch-list."""
        limit = None if self.resource_version else self.initial_events_timeout
        try:
            async with asyncio.timeout(limit) as deadline:
                return await anext(chunks, b"")
        except TimeoutError as error:
            if deadline.expired():
                raise _NoWatchList from error
            raise

    def _collect(self, items: dict[str, T], events: Iterator[WatchEvent]) -> bool:
        """Put initial events into `items`, up to the bookmark that ends them; whether it was there."""
        for event in events:
            if event.type == "ERROR":
                raise error_from_status(event.object)
            identity = identify(event.object)
            if event.type == "BOOKMARK":
                if not identity.ends_initial_events:
                    raise _NoWatchList
                self.resource_version = identity.resource_version
                return True
            items.pop(identity.key, None)
            if event.type != "DELETED":
                self._keep(items, identity, event.object)
        return False

    def _changes(self, events: Iterable[WatchEvent]) -> Iterator[Changes[T]]:
        """The changes in a batch of events, if any; those before an ERROR still count."""
        changes: list[Change[T]] = []
        failure: ApiError | None = None
        before = self.resource_version
        for event in events:
            if event.type == "ERROR":
                failure = error_from_status(event.object)
                break
            identity = identify(event.object)
            self.resource_version = identity.resource_version
            if event.type != "BOOKMARK":
                changes += self._change(event, identity)
        if self.resource_version != before:
            yield Changes(changes, self.resource_version)
        if failure:
            raise failure

    def _change(self, event: WatchEvent, identity: Identity) -> Iterator[Change[T]]:
        if event.type == "DELETED":
            yield Change(identity.key, None, identity.resource_version)
        elif (obj := self._decode(identity, event.object)) is not None:
            yield Change(identity.key, obj, identity.resource_version)

    def _keep(self, items: dict[str, T], identity: Identity, raw: msgspec.Raw) -> None:
        if (obj := self._decode(identity, raw)) is not None:
            items[identity.key] = obj

    def _decode(self, identity: Identity, raw: msgspec.Raw) -> T | None:
        """One object that doesn't fit the type must not hide all the others."""
        try:
            return self._decoder.decode(raw)
        except msgspec.MsgspecError as error:
            log.error("object skipped", resource=self.resource.plural, key=identity.key, error=str(error))
            return None


def _needs_relist(error: ApiError) -> bool:
    """Too old (410), malformed, or from the future: the server's data was replaced by an older state."""
    return isinstance(error, Expired | BadRequest | Invalid) or error.has_cause("ResourceVersionTooLarge")
