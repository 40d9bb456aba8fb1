"""The relay's event loop: descriptors, timers, and work that wants another turn.

epoll, edge-triggered where the owner asks for it. Smaller and, for this one job, faster than an asyncio loop:
a connection costs two registrations and no task (docs/adr/060).
"""

from __future__ import annotations

import contextlib
import heapq
import select
import socket
import time
from collections.abc import Callable

Handler = Callable[[int], None]
Work = Callable[[], None]
# How many are kept until someone asks for them.
_ERRORS = 10


class Timer:
    __slots__ = ("work",)

    def __init__(self, work: Work) -> None:
        self.work: Work | None = work

    def cancel(self) -> None:
        self.work = None


class Loop:
    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        self._again: list[Work] = []
        self._discarded: list[socket.socket] = []
        self._timers: list[tuple[float, int, Timer]] = []
        self._timer_number = 0
        self._running = True
        self.errors: list[str] = []

    def add(self, opened: socket.socket, events: int, handler: Handler) -> None:
        number = opened.fileno()
        self._handlers[number] = handler
        self._epoll.register(number, events)

    def replace(self, opened: socket.socket, handler: Handler) -> None:
        """Another handler for the same events."""
        self._handlers[opened.fileno()] = handler

    def discard(self, opened: socket.socket) -> None:
        """Close it at the end of this turn, so that no event of it can be taken for that of a successor."""
        if self._handlers.pop(opened.fileno(), None) is not None:
            self._discarded.append(opened)
        else:
            opened.close()

    def again(self, work: Work) -> None:
        """Call it after all others have had their turn."""
        self._again.append(work)

    def later(self, seconds: float, work: Work) -> Timer:
        timer = Timer(work)
        self._timer_number += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._timer_number, timer))
        return timer

    def stop(self) -> None:
        self._running = False

    def run(self) -> None:
        while self._running:
            self.turn(self._pause())

    def turn(self, timeout: float) -> None:
        handlers = self._handlers
        for number, events in self._epoll.poll(timeout, 512):
            handler = handlers.get(number)
            if handler is not None:
                try:
                    handler(events)
                except Exception as error:
                    self._failed(error)
                    self._abandon(number)
        if self._again:
            waiting, self._again = self._again, []
            for work in waiting:
                self._attempt(work)
        if self._timers:
            self._run_timers()
        if self._discarded:
            for opened in self._discarded:
                opened.close()
            self._discarded.clear()

    def close(self) -> None:
        self._epoll.close()

    def _attempt(self, work: Work) -> None:
        try:
            work()
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        """One connection may be lost by a mistake of ours; all others must not be."""
        if len(self.errors) < _ERRORS:
            self.errors.append(f"{type(error).__name__}: {error}")

    def _abandon(self, number: int) -> None:
        if self._handlers.pop(number, None) is not None:
            with contextlib.suppress(OSError):
                self._epoll.unregister(number)

    def _pause(self) -> float:
        if self._again:
            return 0
        while self._timers and self._timers[0][2].work is None:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else -1

    def _run_timers(self) -> None:
        now = time.monotonic()
        while self._timers and (self._timers[0][0] <= now or self._timers[0][2].work is None):
            _, _, timer = heapq.heappop(self._timers)
            work, timer.work = timer.work, None
            if work is not None:
                self._attempt(work)
