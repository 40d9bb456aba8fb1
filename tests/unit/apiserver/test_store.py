"""Objects in memory, kept current from a backend."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fairway.api.kinds import ALL
from fairway.apiserver.store import Store
from fairway.storage.backend import Change, Compacted
from fairway.storage.memory import MemoryBackend


class Overtaken(MemoryBackend):
    """A backend whose history is compacted before it could be read."""

    async def watch(self, prefix: str, after: int) -> AsyncIterator[list[Change]]:
        raise Compacted(7)
        yield []


async def test_a_store_that_cannot_be_followed_any_more_says_so() -> None:
    store = Store(Overtaken(), ALL)
    await store.open()
    with pytest.raises(Compacted):
        await store.following()
