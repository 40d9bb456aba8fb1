"""What happened to the objects of one resource: a window of events, and those who follow it.

Selectors are applied here, so that an object crossing one shows as ADDED or DELETED. Bytes on the wire
are the watch verb's business; an event only keeps its ready-made JSON line for all who want the same.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple

from fairway.apiserver.entry import Entry

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"

# A watcher that does not read is cut off rather than kept in memory; clients resume by themselves.
MOST_WAITING = 50_000
# History is kept for a time, but never more than this much of it: a flood of writes must not use up memory.
# Who then resumes from before it is told so (410), lists anew and goes on.
MOST_KEPT = 200_000


class Event:
    """One change: the object as it is now (or was last), and as it was before."""

    __slots__ = ("entry", "line", "previous", "revision", "type")

    def __init__(self, kind: str, entry: Entry, previous: Entry | None) -> None:
        self.type = kind
        self.revision = entry.revision
        self.entry = entry
        self.previous = previous
        self.line: bytes | None = None


class Seen(NamedTuple):
    """An event as one watcher sees it; `event` if it is the event itself, unchanged by a selector."""

    type: str
    entry: Entry
    event: Event | None


Matches = Callable[[Entry], bool]


class Subscription:
    """One watcher's queue of events that match."""

    def __init__(self, matches: Matches | None, after: int = 0) -> None:
        self._matches = matches
        self._after = after
        self._waiting: list[Seen] = []
        self._news: asyncio.Future[None] | None = None
        self.send: Callable[[Seen], bool] | None = None
        """Sends an event at once if it can. Used while `take` waits: all before it is on its way then."""
        self.overrun = False
        self.closed = False

    @property
    def ended(self) -> bool:
        return self.closed or self.overrun

    def offer(self, event: Event) -> None:
        if event.revision <= self._after:
            return  # the client asked for what comes after a revision that is yet to come
        seen = self.view(event)
        if seen is None:
            return
        if self.send and self._news and not self._news.done() and self.send(seen):
            return
        if len(self._waiting) >= MOST_WAITING:
            self.overrun = True
        else:
            self._waiting.append(seen)
        self._wake()

    def view(self, event: Event) -> Seen | None:
        if self._matches is None:
            return Seen(event.type, event.entry, event)
        now = event.type != DELETED and self._matches(event.entry)
        before = event.previous is not None and self._matches(event.previous)
        if now:
            if before or event.type == ADDED:
                return Seen(event.type, event.entry, event)
            return Seen(ADDED, event.entry, None)
        if before and event.previous is not None:
            return Seen(DELETED, event.previous.at(event.revision), None)
        return None

    async def take(self, seconds: float) -> list[Seen]:
        """What has come since the last call, waiting for it; empty when time is up or it has ended."""
        if not self._waiting and not self.ended:
            await self._wait(seconds)
        taken, self._waiting = self._waiting, []
        return taken

    async def _wait(self, seconds: float) -> None:
        """A bare future and a timer: `wait_for` makes a task for every wait, for every watcher."""
        loop = asyncio.get_running_loop()
        self._news = loop.create_future()
        timer = loop.call_later(seconds, self._wake)
        try:
            await self._news
        finally:
            timer.cancel()
            self._news = None

    def _wake(self) -> None:
        if self._news and not self._news.done():
            self._news.set_result(None)

    def close(self) -> None:
        self.closed = True
        self._wake()


class Feed:
    """All events of one resource after `oldest`, and the watchers."""

    def __init__(self) -> None:
        self.oldest = 0
        self._window: list[Event] = []
        self._closed = False
        self._subscriptions: set[Subscription] = set()

    def publish(self, event: Event) -> None:
        self._window.append(event)
        if len(self._window) > MOST_KEPT:
            self.forget(self._window[MOST_KEPT // 10].revision)
        for subscription in self._subscriptions:
            subscription.offer(event)

    def since(self, revision: int) -> Iterable[Event]:
        start = bisect_right(self._window, revision, key=lambda event: event.revision)
        return self._window[start:]

    def forget(self, revision: int) -> None:
        """Drop events up to a revision."""
        start = bisect_right(self._window, revision, key=lambda event: event.revision)
        del self._window[:start]
        self.oldest = max(self.oldest, revision)

    def subscribe(self, matches: Matches | None, after: int = 0) -> Subscription:
        subscription = Subscription(matches, after)
        self._subscriptions.add(subscription)
        if self._closed:
            subscription.close()
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)

    def close(self) -> None:
        """End all watches, and those that are yet to begin."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.close()
