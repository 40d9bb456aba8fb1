"""The loop that keeps the node's kernel in line with what is known of Services.

One change goes out at once; what arrives while it is being programmed, or right after, goes together with the
next. Failures are repaired by synchronising everything, with growing pauses. Knows no proxy mode.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import structlog

from fairway.client.backoff import Backoff
from fairway.metrics import Figure
from fairway.proxy.changes import PortState, Tracker

log = structlog.get_logger()

Changes = Mapping[str, tuple[PortState, ...]]
S = TypeVar("S")
T = TypeVar("T")
S_contra = TypeVar("S_contra", contravariant=True)
# Seconds until someone looks who has reason to.
_UNSURE = 1.0


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


@runtime_checkable
class Describing(Protocol):
    """A mode that can say what is programmed for a Service. Called from the same thread as the others."""

    def describe(self, service: str) -> str:
        """Readable text for `namespace/name`; empty if nothing is programmed for it."""


@runtime_checkable
class Counting(Protocol):
    """A mode with figures of its own for /metrics. Called from the same thread as the others."""

    def figures(self) -> Iterable[Figure]: ...


class Watch(Protocol):
    """Tells when someone may have changed what was programmed; our own changes may be told, too."""

    def fileno(self) -> int: ...
    def was_touched(self) -> bool:
        """Reads what has come, without waiting. Called from the event loop."""


@runtime_checkable
class Watched(Protocol):
    """A mode that needn't be asked all the time whether it is intact."""

    @property
    def watch(self) -> Watch | None: ...


class Observer(Protocol):
    """Who wants to know how programming goes."""

    def queued(self) -> None:
        """Something waits to be programmed."""

    def programmed(self, changes: Changes, everything: bool, took: float) -> None:
        """It is in force; `took` is 0.0 if nothing had to be done."""

    def failed(self) -> None: ...
    def repaired(self) -> None:
        """Someone else's changes were noticed and will be undone."""


class _Nobody:
    def queued(self) -> None: ...
    def programmed(self, changes: Changes, everything: bool, took: float) -> None: ...
    def failed(self) -> None: ...
    def repaired(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Pace:
    """All in seconds."""

    gather: float = 0.005
    """How long a burst is gathered before it goes out."""
    burst: float = 0.02
    """A change that comes sooner than this after the last one belongs to a burst."""
    check: float = 1.0
    """How often someone else's changes are looked for, unless they are told."""
    least: float = 0.0
    """The time from one programming to the next."""
    everything: float = 0.0
    """How often everything is synchronised for no other reason; 0 for never."""


class Programmer(Generic[S]):
    def __init__(
        self,
        tracker: Tracker,
        mode: Mode[S],
        worker: Executor,
        revision: Callable[[], int],
        reached: Callable[[int], None],
        pace: Pace = Pace(),
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        observer: Observer = _Nobody(),  # noqa: B008  (stateless)
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
        self._observer = observer
        self._ended = self._checked = self._synchronised = -1e9
        self._suspicious = False
        # How long the last look took: looking must not become what we mostly do.
        self._look = 0.0

    def wake(self) -> None:
        """The tracker has news."""
        self._observer.queued()
        self._awake.set()

    def configure(self, settings: S) -> None:
        self._settings = settings
        self.wake()

    def suspect(self) -> None:
        """Someone may have changed what was programmed: look soon."""
        self._suspicious = True
        self._awake.set()

    async def ask(self, question: Callable[[], T]) -> T:
        """Have the mode asked something between two changes."""
        return await self._in_worker(question)

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
            async with asyncio.timeout(max(0.0, self._next_look() - self._clock())):
                await self._awake.wait()
        except TimeoutError:
            return
        since = self._clock() - self._ended
        if since < self._pace.least:
            await self._sleep(self._pace.least - since)
        elif since < self._pace.burst:
            await self._sleep(self._pace.gather)

    async def _check(self) -> None:
        began = self._clock()
        if 0 < self._pace.everything <= began - self._synchronised:
            self._must_synchronise = True
            return
        if began < self._next_look():
            return
        self._suspicious = False
        try:
            intact = await self._in_worker(self._mode.is_intact)
        except Exception as error:
            log.warning("could not look at what is programmed", error=str(error))
            intact = False
        self._checked = self._clock()
        self._look = min(self._checked - began, _UNSURE / 10)
        if not intact:
            log.warning("someone else has changed what was programmed; putting it back")
            self._observer.repaired()
            self._must_synchronise = True

    def _next_look(self) -> float:
        """Nothing is told of what others do during a synchronisation, so one follows it soon."""
        if self._suspicious:
            return self._checked + 10 * self._look
        if self._checked <= self._synchronised:
            return self._synchronised + min(self._pace.check, _UNSURE)
        return self._checked + self._pace.check

    async def _until_programmed(self) -> None:
        while True:
            self._awake.clear()
            revision = self._revision()
            self._pending |= self._tracker.take()
            try:
                await self._program(self._pending)
            except Exception as error:
                pause = self._backoff.next()
                self._observer.failed()
                log.error("programming failed", error=str(error), retry_in=round(pause, 2))
                await self._sleep(pause)
                continue
            self._backoff.reset()
            self._pending = {}
            self._reached(revision)
            return

    async def _program(self, changes: Changes) -> None:
        if not (changes or self._settings is not None or self._must_synchronise):
            self._observer.programmed(changes, False, 0.0)
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
        if synchronise:
            self._synchronised = self._ended
        self._observer.programmed(changes, synchronise, self._ended - began)
        log.debug("programmed", services=len(changes), everything=synchronise, took=self._ended - began)

    async def _in_worker(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)
