"""Counting for /metrics: beside programming, once for all who ask, and not all the time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable

from fairway.metrics import Figure
from fairway.proxy.service_counts import Count
from fairway.proxy.service_figures import ServiceFigures


class Mode:
    """Counts how often it was asked; counting takes `seconds` of the fake clock, or until `gate` opens."""

    def __init__(self) -> None:
        self.now, self.seconds, self.asked = 0.0, 0.5, 0
        self.began, self.gate = threading.Event(), threading.Event()
        self.gate.set()
        self.threads: list[threading.Thread] = []
        self.broken = False

    def count_services(self) -> Count:
        self.asked += 1
        return self._count

    def _count(self) -> Iterable[Figure]:
        self.threads.append(threading.current_thread())
        self.began.set()
        self.gate.wait(30)
        self.now += self.seconds
        if self.broken:
            raise OSError("no such thing")
        return [Figure("connections_total", self.asked, (), "counter", "so many")]


async def ask(question: Callable[[], Count]) -> Count:
    return question()


def made(mode: Mode) -> ServiceFigures:
    return ServiceFigures(mode, lambda: mode.now)


async def test_counting_happens_in_a_thread_of_its_own() -> None:
    mode = Mode()
    assert (await made(mode).text(ask)).endswith("connections_total 1\n")
    assert len(mode.threads) == 1
    assert threading.current_thread() not in mode.threads


async def test_a_mode_that_counts_nothing_has_no_figures() -> None:
    assert await ServiceFigures(object()).text(ask) == ""


async def test_counting_takes_no_more_than_a_twentieth_of_the_time() -> None:
    mode = Mode()
    figures = made(mode)
    first = await figures.text(ask)
    mode.now += 9.9
    assert await figures.text(ask) == first
    assert mode.asked == 1
    mode.now += 0.2
    assert (await figures.text(ask)).endswith("connections_total 2\n")


async def test_all_who_ask_at_once_get_what_is_counted_once_even_if_the_first_hangs_up() -> None:
    mode = Mode()
    mode.gate.clear()
    figures = made(mode)
    waiting = [asyncio.create_task(figures.text(ask)) for _ in range(3)]
    await asyncio.to_thread(mode.began.wait, 30)
    waiting[0].cancel()
    await asyncio.wait(waiting[:1])
    mode.gate.set()
    assert {(await task)[-2:] for task in waiting[1:]} == {"1\n"}
    assert len(mode.threads) == 1


async def test_what_can_not_be_counted_now_is_told_as_it_was_and_counted_later() -> None:
    mode = Mode()
    mode.seconds = 0.0
    figures = made(mode)
    first = await figures.text(ask)
    mode.broken = True
    assert await figures.text(ask) == first
    mode.broken = False
    assert (await figures.text(ask)).endswith("connections_total 3\n")
