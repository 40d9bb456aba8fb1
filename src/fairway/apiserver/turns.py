"""Taking turns: those who lost a race for an object go on one after the other, instead of failing together
again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: Counter[str] = Counter()

    @asynccontextmanager
    async def of(self, key: str) -> AsyncIterator[None]:
        """Wait for all who came before to the same key."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._wanted[key] += 1
        try:
            async with lock:
                yield
        finally:
            self._wanted[key] -= 1
            if not self._wanted[key]:
                del self._wanted[key], self._locks[key]
