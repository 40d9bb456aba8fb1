"""The loop between events and the kernel, with a mode that only writes down what it is asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from fairway.proxy.changes import Tracker
from fairway.proxy.programming import Changes, Pace, Programmer
from fairway.proxy.topology import Place

from .objects import endpoint_slice, service


class Recorder:
    """A mode. `failures` is how many of the next calls fail."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, object]] = []
        self.failures = self.looks = 0
        self.intact = True
        self.look: Callable[[], None] = lambda: None

    def apply(self, changes: Changes) -> None:
        self._note("apply", sorted(changes))

    def synchronise(self, changes: Changes) -> None:
        self._note("synchronise", sorted(changes))
        self.intact = True

    def configure(self, settings: str) -> None:
        self._note("configure", settings)

    def is_intact(self) -> bool:
        self.looks += 1
        self.look()
        return self.intact

    def _note(self, call: str, argument: object) -> None:
        self.calls.append((call, argument))
        if self.failures:
            self.failures -= 1
            raise RuntimeError("asked to fail")


class Notes:
    """An observer that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def queued(self) -> None:
        self.told.append(("queued",))

    def programmed(self, changes: Changes, everything: bool, took: float) -> None:
        self.told.append(("programmed", sorted(changes), everything))

    def failed(self) -> None:
        self.told.append(("failed",))

    def repaired(self) -> None:
        self.told.append(("repaired",))


class Loop:
    def __init__(self) -> None:
        self.mode, self.tracker = Recorder(), Tracker(Place("n1"))
        self.revision, self.reached, self.pauses = 0, [0], [0.0]
        self.now = 0.0
        self.observer = Notes()

    @asynccontextmanager
    async def running(
        self, check: float = 60.0, least: float = 0.0, everything: float = 0.0
    ) -> AsyncIterator[Programmer[str]]:
        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)
            await asyncio.sleep(0)

        ready = asyncio.Event()
        with ThreadPoolExecutor(1) as worker:
            programmer: Programmer[str] = Programmer(
                self.tracker,
                self.mode,
                worker,
                revision=lambda: self.revision,
                reached=self.reached.append,
                pace=Pace(check=check, least=least, everything=everything),
                clock=lambda: self.now,
                sleep=sleep,
                observer=self.observer,
            )
            task = asyncio.create_task(programmer.run(ready.set))
            try:
                async with asyncio.timeout(5):
                    await ready.wait()
                    yield programmer
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def service(self, name: str) -> None:
        self.revision += 1
        self.tracker.service_changed(f"default/{name}", None, service(name))

    async def until(self, check: Callable[[], bool]) -> None:
        while not check():  # noqa: ASYNC110  (what is waited for happens in a thread)
            await asyncio.sleep(0.001)


async def test_everything_known_is_synchronised_before_it_says_ready() -> None:
    loop = Loop()
    loop.service("a")
    async with loop.running():
        assert loop.mode.calls == [("synchronise", ["default/a"])]
        assert loop.reached[-1] == 1


async def test_a_single_change_goes_out_without_any_pause() -> None:
    loop = Loop()
    async with loop.running() as programmer:
        loop.now = 10.0
        loop.service("a")
        programmer.wake()
        await loop.until(lambda: loop.reached[-1] == 1)
        assert loop.mode.calls[1:] == [("apply", ["default/a"])]
        assert loop.pauses == [0.0]


async def test_a_change_right_after_another_waits_for_company() -> None:
    loop = Loop()
    async with loop.running() as programmer:
        loop.service("a")
        programmer.wake()
        await loop.until(lambda: loop.reached[-1] == 1)
        assert loop.pauses == [0.0, Pace().gather]


async def test_what_has_gone_out_is_not_sent_again() -> None:
    loop = Loop()
    async with loop.running() as programmer:
        for revision, name in enumerate("ab", 1):
            loop.service(name)
            programmer.wake()
            await loop.until(lambda goal=revision: loop.reached[-1] == goal)  # type: ignore[misc]
        assert loop.mode.calls[1:] == [("apply", ["default/a"]), ("apply", ["default/b"])]


async def test_a_burst_goes_out_together() -> None:
    loop = Loop()
    async with loop.running() as programmer:
        for name in "abc":
            loop.service(name)
            programmer.wake()
        await loop.until(lambda: loop.reached[-1] == 3)
        assert loop.mode.calls[1:] == [("apply", ["default/a", "default/b", "default/c"])]


async def test_a_failure_is_repaired_by_synchronising_with_growing_pauses_and_loses_no_change() -> None:
    loop = Loop()
    async with loop.running() as programmer:
        loop.now = 10.0
        loop.mode.failures = 3
        loop.service("a")
        programmer.wake()
        await loop.until(lambda: loop.reached[-1] == 1)
        assert [call for call, _ in loop.mode.calls[1:]] == ["apply"] + ["synchronise"] * 3
        assert loop.mode.calls[-1] == ("synchronise", ["default/a"])
        assert 0 < loop.pauses[1] < loop.pauses[3]


async def test_failures_at_the_start_are_tried_again() -> None:
    loop = Loop()
    loop.mode.failures = 2
    loop.service("a")
    async with loop.running():
        assert loop.mode.calls == [("synchronise", ["default/a"])] * 3


async def test_progress_is_told_only_after_it_is_in_force() -> None:
    loop = Loop()
    async with loop.running() as programmer:
        loop.mode.failures = 1
        loop.service("a")
        programmer.wake()
        await loop.until(lambda: loop.reached[-1] == 1)
        assert len(loop.mode.calls) == 3


async def test_revisions_that_concern_nobody_here_are_reached_without_touching_the_kernel() -> None:
    loop = Loop()
    async with loop.running() as programmer:
        loop.revision = 7
        programmer.wake()
        await loop.until(lambda: loop.reached[-1] == 7)
        assert len(loop.mode.calls) == 1


async def test_new_settings_lead_to_a_synchronisation() -> None:
    loop = Loop()
    async with loop.running() as programmer:
        programmer.configure("other")
        await loop.until(lambda: len(loop.mode.calls) == 3)
        assert loop.mode.calls[1:] == [("configure", "other"), ("synchronise", [])]


async def test_what_others_have_changed_is_put_back() -> None:
    loop = Loop()
    async with loop.running(check=0.001) as programmer:
        loop.mode.intact = False
        loop.now += 1
        await loop.until(lambda: len(loop.mode.calls) == 2)
        assert loop.mode.calls[1] == ("synchronise", [])
        loop.tracker.slice_changed("default/a-1", None, endpoint_slice([], "a"))
        programmer.wake()
        await loop.until(lambda: len(loop.mode.calls) == 3)
        assert loop.mode.calls[2] == ("apply", ["default/a"])


async def test_a_suspicion_is_looked_into_at_once() -> None:
    loop = Loop()
    async with loop.running(check=60.0) as programmer:
        loop.now += 30
        loop.mode.intact = False
        programmer.suspect()
        await loop.until(lambda: len(loop.mode.calls) == 2)
        assert loop.mode.calls[1] == ("synchronise", [])
        assert ("repaired",) in loop.observer.told


async def test_after_everything_was_programmed_the_next_look_comes_within_a_second() -> None:
    loop = Loop()
    async with loop.running(check=60.0) as programmer:
        for looks in (1, 2):
            loop.now += 1.5
            programmer.wake()
            await loop.until(lambda: loop.mode.looks == looks)  # noqa: B023  (awaited within the round)
            loop.now += 1.5
            programmer.configure("other")
            await loop.until(lambda: len(loop.mode.calls) == 1 + 2 * looks)  # noqa: B023
        assert loop.mode.looks == 2


async def test_a_suspicion_right_after_a_look_is_looked_into_when_ten_times_its_length_has_passed() -> None:
    loop = Loop()
    loop.mode.look = lambda: setattr(loop, "now", loop.now + 0.01)
    async with loop.running(check=60.0) as programmer:
        programmer.suspect()
        await loop.until(lambda: loop.mode.looks == 1)
        loop.mode.intact = False
        programmer.suspect()
        await asyncio.sleep(0.02)
        assert loop.mode.looks == 1
        loop.now += 0.1
        await loop.until(lambda: len(loop.mode.calls) == 2)


async def test_a_suspicion_without_reason_costs_a_look_and_no_more() -> None:
    loop = Loop()
    async with loop.running(check=60.0) as programmer:
        loop.now += 30
        programmer.suspect()
        loop.revision = 1
        await loop.until(lambda: loop.reached[-1] == 1)
        assert len(loop.mode.calls) == 1
        assert ("repaired",) not in loop.observer.told


async def test_programmings_keep_the_distance_that_was_asked_for() -> None:
    loop = Loop()
    async with loop.running(least=2.0) as programmer:
        loop.now += 0.5
        loop.service("a")
        programmer.wake()
        await loop.until(lambda: loop.reached[-1] == 1)
        assert loop.pauses == [0.0, 1.5]


async def test_everything_is_synchronised_as_often_as_was_asked_for() -> None:
    loop = Loop()
    async with loop.running(check=0.001, everything=30.0):
        loop.now += 29
        await asyncio.sleep(0.02)
        assert len(loop.mode.calls) == 1
        loop.now += 2
        await loop.until(lambda: len(loop.mode.calls) == 2)
        assert loop.mode.calls[1] == ("synchronise", [])
        assert ("repaired",) not in loop.observer.told


async def test_whoever_observes_is_told_what_waits_what_failed_and_what_is_in_force() -> None:
    loop = Loop()
    async with loop.running() as programmer:
        loop.mode.failures = 1
        loop.service("a")
        programmer.wake()
        await loop.until(lambda: loop.reached[-1] == 1)
        assert loop.observer.told == [
            ("programmed", [], True),
            ("queued",),
            ("failed",),
            ("programmed", ["default/a"], True),
        ]


async def test_questions_are_asked_in_the_thread_of_the_mode() -> None:
    loop = Loop()
    async with loop.running() as programmer:
        name = await programmer.ask(lambda: threading.current_thread().name)
        assert name.startswith("ThreadPoolExecutor")
