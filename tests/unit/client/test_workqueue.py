"""What a work queue promises about order, repetition, delay and concurrency; time is moved by hand."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from typing import Any

import pytest

from fairway.client import WorkQueue, run_workers


class HandClock:
    """The two methods of an event loop that the queue uses, with time standing still."""

    def __init__(self) -> None:
        self.now = 0.0
        self._calls: list[tuple[float, int, list[bool], Callable[..., object], tuple[Any, ...]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[..., object], /, *args: Any) -> HandTimer:
        cancelled = [False]
        heapq.heappush(self._calls, (when, len(self._calls), cancelled, callback, args))
        return HandTimer(cancelled)

    def advance(self, seconds: float) -> None:
        self.now += seconds
        while self._calls and self._calls[0][0] <= self.now:
            _, _, cancelled, callback, args = heapq.heappop(self._calls)
            if not cancelled[0]:
                callback(*args)


class HandTimer:
    def __init__(self, cancelled: list[bool]) -> None:
        self._cancelled = cancelled

    def cancel(self) -> None:
        self._cancelled[0] = True


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def queue(clock: HandClock) -> WorkQueue:
    return WorkQueue(timers=clock)


async def test_keys_come_out_in_the_order_they_went_in_and_once(queue: WorkQueue) -> None:
    for key in ("a", "b", "a", "c"):
        queue.add(key)
    assert [await queue.get() for _ in range(len(queue))] == ["a", "b", "c"]


async def test_a_key_added_while_worked_on_comes_again_only_after_done(queue: WorkQueue) -> None:
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert len(queue) == 1
    assert await queue.get() == "a"
    queue.done("a")
    assert len(queue) == 0


async def test_a_delayed_key_waits_its_time(queue: WorkQueue, clock: HandClock) -> None:
    queue.add_after("a", 5)
    clock.advance(4.9)
    assert len(queue) == 0
    clock.advance(0.2)
    assert await queue.get() == "a"


async def test_the_earliest_of_several_delays_counts(queue: WorkQueue, clock: HandClock) -> None:
    queue.add_after("a", 5)
    queue.add_after("a", 1)
    queue.add_after("a", 9)
    clock.advance(1)
    assert await queue.get() == "a"
    queue.done("a")
    clock.advance(60)
    assert len(queue) == 0


def test_no_delay_is_an_add(queue: WorkQueue) -> None:
    queue.add_after("a", 0)
    assert len(queue) == 1


def test_each_failure_doubles_the_wait_up_to_the_longest_until_forgotten(clock: HandClock) -> None:
    queue = WorkQueue(shortest_delay=1, longest_delay=5, timers=clock)
    assert [queue.retry("a") for _ in range(5)] == [1, 2, 4, 5, 5]
    assert queue.retry("b") == 1
    assert queue.failures("a") == 5
    queue.forget("a")
    assert queue.retry("a") == 1


def test_a_thousand_failures_do_not_overflow(clock: HandClock) -> None:
    queue = WorkQueue(timers=clock)
    assert [queue.retry("a") for _ in range(2000)][-1] == 60


async def test_a_waiting_get_wakes_for_an_add(queue: WorkQueue) -> None:
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    queue.add("b")
    assert {await first, await second} == {"a", "b"}


async def test_a_cancelled_get_does_not_swallow_the_wake_up(queue: WorkQueue) -> None:
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    assert await asyncio.wait_for(second, 1) == "a"


async def test_workers_never_share_a_key_and_use_their_number(queue: WorkQueue) -> None:
    working: list[str] = []
    most = 0

    async def handle(key: str) -> None:
        nonlocal most
        assert key not in working
        working.append(key)
        most = max(most, len(working))
        queue.add(key) if rounds.pop(key, None) else None
        await asyncio.sleep(0)
        working.remove(key)
        handled.append(key)

    rounds = {"a": 1, "b": 1, "c": 1}
    handled: list[str] = []
    for key in rounds:
        queue.add(key)
    workers = asyncio.create_task(run_workers(queue, handle, 2))
    for _ in range(50):
        await asyncio.sleep(0)
    workers.cancel()
    assert sorted(handled) == ["a", "a", "b", "b", "c", "c"]
    assert most == 2


async def test_a_failed_key_is_retried_and_a_success_forgets(queue: WorkQueue, clock: HandClock) -> None:
    outcomes = [RuntimeError("once"), RuntimeError("twice"), None]
    tried: list[float] = []

    async def handle(key: str) -> None:
        tried.append(round(clock.now, 3))
        if outcome := outcomes.pop(0):
            raise outcome

    workers = asyncio.create_task(run_workers(queue, handle, 1))
    queue.add("a")
    for _ in range(10):
        await asyncio.sleep(0)
        clock.advance(0.005)
        await asyncio.sleep(0)
    workers.cancel()
    assert len(tried) == 3
    assert queue.failures("a") == 0
