"""Figures of single Services for /metrics, counted in a thread of their own so that programming never waits.

However many ask and however often, counting takes a twentieth of the time at most: in between, what was
counted last is told again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

import structlog

from fairway.metrics import exposition
from fairway.proxy.budget import Budget
from fairway.proxy.service_counts import Count

log = structlog.get_logger()
_SHARE = 1 / 20


@runtime_checkable
class ServiceCounting(Protocol):
    """A mode that counts what passes through single Services."""

    def count_services(self) -> Count:
        """Called from the mode's own thread, between two changes, and quick. What it returns takes longer; it
        is called from another thread, and before this is called again.
        """


Asking = Callable[[Callable[[], Count]], Awaitable[Count]]


class ServiceFigures:
    def __init__(self, mode: object, clock: Callable[[], float] = time.monotonic) -> None:
        self._mode = mode if isinstance(mode, ServiceCounting) else None
        self._budget = Budget(clock, _SHARE)
        self._counting: asyncio.Task[None] | None = None
        self._text = ""

    async def text(self, ask: Asking) -> str:
        """As Prometheus reads it; empty for a mode that can't count. `ask` calls in the mode's own thread."""
        if self._mode is None:
            return ""
        if self._counting is None and self._budget.allows():
            self._counting = asyncio.create_task(self._count(self._mode, ask))
            self._counting.add_done_callback(self._ended)
        if self._counting is not None:
            # It is shared, and its thread can't be stopped: whoever hangs up doesn't end it.
            await asyncio.shield(self._counting)
        return self._text

    async def _count(self, mode: ServiceCounting, ask: Asking) -> None:
        try:
            count = await ask(mode.count_services)
            with self._budget.spending():
                self._text = await asyncio.to_thread(lambda: exposition(count()))
        except Exception as error:
            log.warning("could not count what passes through Services", error=str(error))

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._counting = None
