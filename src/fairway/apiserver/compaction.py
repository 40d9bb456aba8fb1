"""Keeping history bounded: everything older than ten minutes is forgotten, a little at a time."""

from __future__ import annotations

import asyncio
from collections import deque

import structlog

from fairway.apiserver.store import Store
from fairway.storage.backend import StorageError

log = structlog.get_logger()

INTERVAL = 60.0
KEPT_INTERVALS = 10


async def keep_compacting(store: Store) -> None:
    revisions: deque[int] = deque()
    while True:
        await asyncio.sleep(INTERVAL)
        revisions.append(store.revision)
        if len(revisions) > KEPT_INTERVALS:
            try:
                await store.compact(revisions.popleft())
            except StorageError as error:
                log.warning("compaction failed", error=str(error))
