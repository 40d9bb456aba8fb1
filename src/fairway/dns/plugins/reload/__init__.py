"""`reload [INTERVAL] [JITTER]`: looks now and then whether the Corefile has changed, and serves the new one
if it is right.

A wrong one is reported and the old one stays in force.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import structlog

from fairway.dns.arguments import duration
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Plugin, Setup

log = structlog.get_logger()
_INTERVAL, _SHORTEST = 30.0, 2.0


class Reload(Plugin):
    name = "reload"

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        line = directives[0]
        if len(line.args) > 2:
            raise line.wrong_arguments()
        given = [duration(line, arg) for arg in line.args]
        self._interval = max(_SHORTEST, given[0] if given else _INTERVAL)
        self._jitter = min(given[1] if len(given) == 2 else self._interval / 2, self._interval / 2)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        if self._task and self._task is not asyncio.current_task():
            self._task.cancel()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._interval + random.uniform(-self._jitter, self._jitter))
            if await self.setup.around.reload():
                return


PLUGIN = Reload
