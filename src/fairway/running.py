"""Running a component until someone asks it to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Awaitable, Coroutine
from typing import Any

import uvloop

from fairway import logs


def run_component(name: str, work: Coroutine[Any, Any, None], level: int = logging.INFO) -> None:
    """Run until it ends, or until SIGTERM or Ctrl-C ends it in an orderly way."""
    logs.configure(name, level)
    uvloop.run(until_signalled(work))


async def until_signalled(work: Awaitable[None]) -> None:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
