"""The loop that keeps the node's kernel in line with what is known of Services.

One change goes out at once; what arrives while it is being programmed, or right after, goes together with the
next. Failures are repaired by synchronising everything, with growing pauses. Knows no proxy mode.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import structlog

from fairway.client.backoff import Backoff
from fairway.proxy.changes import PortState, Tracker

log = structlog.get_logger()

Changes = Mapping[str, tuple[PortState, ...]]
S = TypeVar("S")
T = TypeVar("T")
S_contra = TypeVar("S_contra", contravariant=True)


class Mode(Protocol[S_contra]):
    """A proxy mode. All methods block and are called from one thread."""

    def apply(self, changes: Changes) -> object:
        """Bring the new state of some Services into force. After an exception comes `synchronise`."""

    def synchronise(self, changes: Changes) -> object:
        """Take in the changes and bring everything known into force, from whatever the kernel holds."""

    def configure(self, settings: S_contra) -> None:
        """Use other settings; they take effect with `synchronise`, which follows."""

    def is_intact(self) -> bool:
        """Whether what was brought into force is still there."""

    def remove(self) -> None:
        """Leave nothing of this mode behind, whatever is there of it."""


@dataclass(frozen=True, slots=True)
class Pace:
    """All in seconds."""

    gather: float = 0.005
    """How long a burst is gathered before it goes out."""
    burst: float = 0.02
    """A change that comes sooner than this after the last one belongs to a burst."""
    check: float = 1.0
    """How often someone else's changes are looked for."""


class Programmer(Generic[S]):
    def __init__(
        self,
        tracker: Tracker,
        mode: Mode[S],
        worker: Executor,
        revision: Callable[[], int],
        reached: Callable[[int], None],
        pace: Pace = Pace(),  # noqa: B008  (immutable)
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`revision` says how far the tracker is, `reached` is told how far the kernel is."""
        self._tracker, self._mode, self._worker = tracker, mode, worker
        self._revision, self._reached = revision, reached
        self._pace, self._clock, self._sleep = pace, clock, sleep
        self._backoff = Backoff(shortest=0.05, longest=30.0)
        self._awake = asyncio.Event()
        self._settings: S | None = None
        self._must_synchronise = True
        self._pending: dict[str, tuple[PortState, ...]] = {}
        self._ended = self._checked = -1e9

    def wake(self) -> None:
        """The tracker has news."""
        self._awake.set()

    def configure(self, settings: S) -> None:
        self._settings = settings
        self._awake.set()

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """For ever. Calls `ready` once everything known at the start is in force."""
        await self._until_programmed()
        ready()
        while True:
            await self._until_due()
            if not self._must_synchronise:
                await self._check()
            await self._until_programmed()

    async def _until_due(self) -> None:
        try:
            async with asyncio.timeout(self._pace.check):
                await self._awake.wait()
        except TimeoutError:
            return
        if self._clock() - self._ended < self._pace.burst:
            await self._sleep(self._pace.gather)

    async def _check(self) -> None:
        if self._clock() - self._checked < self._pace.check:
            return
        try:
            intact = await self._in_worker(self._mode.is_intact)
        except Exception as error:
            log.warning("could not look at what is programmed", error=str(error))
            intact = False
        self._checked = self._clock()
        if not intact:
            log.warning("someone else has changed what was programmed; putting it back")
            self._must_synchronise = True

    async def _until_programmed(self) -> None:
        while True:
            self._awake.clear()
            revision = self._revision()
            self._pending |= self._tracker.take()
            try:
                await self._program(self._pending)
            except Exception as error:
                pause = self._backoff.next()
                log.error("programming failed", error=str(error), retry_in=round(pause, 2))
                await self._sleep(pause)
                continue
            self._backoff.reset()
            self._pending = {}
            self._reached(revision)
            return

    async def _program(self, changes: Changes) -> None:
        if not (changes or self._settings is not None or self._must_synchronise):
            return
        synchronise, self._must_synchronise = self._must_synchronise, True
        if self._settings is not None:
            settings, self._settings, synchronise = self._settings, None, True
            await self._in_worker(lambda: self._mode.configure(settings))
        began = self._clock()
        await self._in_worker(
            lambda: self._mode.synchronise(changes) if synchronise else self._mode.apply(changes)
        )
        # Only now: after a failure, and after a cancellation in the middle, nothing is known for certain.
        self._must_synchronise = False
        self._ended = self._clock()
        log.debug("programmed", services=len(changes), everything=synchronise, took=self._ended - began)

    async def _in_worker(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)
