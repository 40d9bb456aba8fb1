"""The Lease that tells how far answers are."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from fairway.client import Client, NotFound, Unavailable
from fairway.dns import progress
from fairway.dns.progress import ANNOTATION, Progress


class Leases:
    """An API server that knows one Lease."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.writes: list[str] = []
        self.down = False
        self.written = asyncio.Event()

    async def patch(self, resource: object, name: str, patch: dict[str, Any], **rest: object) -> None:
        assert name == "fairway-progress-dns-test"
        if self.down:
            raise Unavailable(503)
        if self.lease is None:
            raise NotFound(404)
        self._keep(patch)

    async def create(self, resource: object, obj: dict[str, Any], **rest: object) -> None:
        self._keep(obj)

    async def delete(self, resource: object, name: str, **rest: object) -> None:
        self.lease = None

    def _keep(self, obj: dict[str, Any]) -> None:
        self.lease = obj
        self.writes.append(obj["metadata"]["annotations"][ANNOTATION])
        self.written.set()

    async def next_write(self) -> str:
        await self.written.wait()
        self.written.clear()
        return self.writes[-1]


@pytest.fixture
def leases(monkeypatch: pytest.MonkeyPatch) -> Leases:
    monkeypatch.setattr(progress, "_PAUSE", 0)
    return Leases()


async def test_revisions_are_published_as_they_come_and_the_lease_goes_at_the_end(leases: Leases) -> None:
    told = Progress(cast(Client, leases), "test")
    task = asyncio.create_task(told.run())
    told.reached(5)
    assert await leases.next_write() == "5"
    told.reached(7)
    told.reached(9)
    assert await leases.next_write() == "9"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert leases.lease is None


async def test_what_did_not_change_is_not_written_again(leases: Leases) -> None:
    told = Progress(cast(Client, leases), "test")
    task = asyncio.create_task(told.run())
    told.reached(5)
    await leases.next_write()
    told.reached(5)
    for _ in range(5):
        await asyncio.sleep(0)
    assert leases.writes == ["5"]
    task.cancel()


async def test_an_api_server_that_is_away_is_told_when_it_is_back(leases: Leases) -> None:
    told = Progress(cast(Client, leases), "test")
    leases.down = True
    task = asyncio.create_task(told.run())
    told.reached(5)
    for _ in range(5):
        await asyncio.sleep(0)
    leases.down = False
    assert await leases.next_write() == "5"
    task.cancel()
