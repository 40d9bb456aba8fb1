"""The frame every controller runs in: keys to look at, workers that look, and patience with failures.

What to do about a key is the controller's `sync`; it returns seconds after which to look again, or None.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from fairway.client import AlreadyExists, ApiError, Conflict, Forbidden, NotFound, WorkQueue

log = structlog.get_logger()
Sync = Callable[[str], Awaitable[float | None]]


class Loop:
    def __init__(self, name: str, sync: Sync, workers: int = 8) -> None:
        self.name = name
        self.queue = WorkQueue()
        self._sync = sync
        self._workers = workers

    def add(self, key: str) -> None:
        self.queue.add(key)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                await self.look_at(key)
            finally:
                self.queue.done(key)

    async def look_at(self, key: str) -> None:
        """One key, once. Never raises: whatever fails is tried again, later and later."""
        try:
            look_again = await self._sync(key)
        except Forbidden as error:
            self._refused(key, error)
        except (Conflict, AlreadyExists, NotFound) as error:
            # Someone was faster; the informer will show what they did.
            log.debug("overtaken", controller=self.name, key=key, error=str(error))
            self.queue.retry(key)
        except ApiError as error:
            log.warning("write failed", controller=self.name, key=key, error=str(error))
            self.queue.retry(key)
        except Exception:
            log.exception("controller failed", controller=self.name, key=key)
            self.queue.retry(key)
        else:
            self.queue.forget(key)
            if look_again is not None:
                self.queue.add_after(key, max(look_again, 0.01))

    def _refused(self, key: str, error: Forbidden) -> None:
        if error.has_cause("NamespaceTerminating"):
            self.queue.forget(key)  # nothing can be made there any more
            return
        log.warning("write refused", controller=self.name, key=key, error=str(error))
        self.queue.retry(key)
