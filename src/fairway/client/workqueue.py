"""Keys that wait to be worked on: each at most once in the queue, each in one worker's hands at a time.

Ordering, delays and retries belong here; what working on a key means is the handler's business. Time comes
from the event loop, or from anything else that has its `time` and `call_at`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import structlog

log = structlog.get_logger()


class Timers(Protocol):
    """The part of an event loop that a queue needs; tests pass a clock they move by hand."""

    def time(self) -> float: ...

    def call_at(self, when: float, callback: Callable[..., object], /, *args: Any) -> Any: ...


class WorkQueue:
    """`add` a key as often as you like; `get` hands it out once, and again only after `done`."""

    def __init__(
        self, *, shortest_delay: float = 0.005, longest_delay: float = 60.0, timers: Timers | None = None
    ) -> None:
        self._shortest_delay = shortest_delay
        self._longest_delay = longest_delay
        self._timers = timers
        self._ready: deque[str] = deque()
        self._dirty: set[str] = set()
        self._working: set[str] = set()
        self._delayed: dict[str, tuple[float, Any]] = {}
        self._failures: dict[str, int] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, key: str) -> None:
        """A key that is being worked on is queued again once that is `done`."""
        if key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._working:
            self._enqueue(key)

    def add_after(self, key: str, delay: float) -> None:
        """Of several delays for one key the earliest counts."""
        if delay <= 0:
            self.add(key)
            return
        timers = self._timers or asyncio.get_running_loop()
        when = timers.time() + delay
        if waiting := self._delayed.get(key):
            if waiting[0] <= when:
                return
            waiting[1].cancel()
        self._delayed[key] = (when, timers.call_at(when, self._due, key))

    def retry(self, key: str) -> float:
        """Add the key after a delay that doubles with each failure since `forget`; returns the delay."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(self._shortest_delay * 2.0 ** min(failures, 60), self._longest_delay)
        self.add_after(key, delay)
        return delay

    def forget(self, key: str) -> None:
        self._failures.pop(key, None)

    def failures(self, key: str) -> int:
        return self._failures.get(key, 0)

    async def get(self) -> str:
        """The next key. Call `done` with it, whatever happens."""
        while not self._ready:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
                elif self._ready:
                    self._wake()
                raise
        key = self._ready.popleft()
        self._dirty.discard(key)
        self._working.add(key)
        return key

    def done(self, key: str) -> None:
        self._working.discard(key)
        if key in self._dirty:
            self._enqueue(key)

    def _due(self, key: str) -> None:
        del self._delayed[key]
        self.add(key)

    def _enqueue(self, key: str) -> None:
        self._ready.append(key)
        self._wake()

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return


async def run_workers(queue: WorkQueue, handler: Callable[[str], Awaitable[None]], count: int = 1) -> None:
    """Work on keys for ever, `count` at a time. A handler that raises has its key retried later."""
    async with asyncio.TaskGroup() as workers:
        for _ in range(count):
            workers.create_task(_work(queue, handler))


async def _work(queue: WorkQueue, handler: Callable[[str], Awaitable[None]]) -> None:
    while True:
        key = await queue.get()
        try:
            await handler(key)
        except Exception:
            log.exception("work failed", key=key, retry_in=queue.retry(key))
        else:
            queue.forget(key)
        finally:
            queue.done(key)
