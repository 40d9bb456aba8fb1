"""Reading a state no older than a client has seen: it may be on its way to us still, but not for long."""

from __future__ import annotations

import asyncio

from fairway.api.errors import revision_too_large
from fairway.apiserver.store import Store

PATIENCE = 3.0


async def wait_until_fresh(store: Store, revision: int) -> None:
    if revision <= store.revision:
        return
    try:
        await asyncio.wait_for(store.reached(revision), PATIENCE)
    except TimeoutError:
        raise revision_too_large(revision, store.revision) from None
