"""The API server's own housekeeping of Service ranges and allocations, one step after the other.

Repairs come first: a range must not go while a Service has an address of it that merely lost its IPAddress.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

import structlog

from fairway.api.errors import StatusError
from fairway.apiserver.allocators.range_keeper import RangeKeeper
from fairway.apiserver.allocators.repairer import Repairer

log = structlog.get_logger()

TICK_SECONDS: Final = 0.25
"""How soon a change is noticed: soon enough for people, seldom enough to cost nothing."""
FULL_PASS_SECONDS: Final = 180.0


async def keep_allocations(repairer: Repairer, keeper: RangeKeeper) -> None:
    """For ever; a store that can't be written to is tried again."""
    due = time.monotonic()
    while True:
        try:
            if time.monotonic() >= due:
                due = time.monotonic() + FULL_PASS_SECONDS
                await repairer.full_pass()
            await repairer.look_at_changes()
            await keeper.look()
        except StatusError as error:
            log.warning("allocations could not be kept", error=error.message)
        await asyncio.sleep(TICK_SECONDS)
