"""How far this node is, as others can read it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from fairway.api.resources import Resource
from fairway.client import NotFound, Unavailable
from fairway.client.progress import Progress


class Leases:
    """As much of a client as is needed, and the Leases it has written."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, Any]] = {}
        self.writes: list[str] = []
        self.failures = 0

    async def patch(self, resource: Resource, name: str, patch: dict[str, Any], namespace: str) -> None:
        self._may_fail()
        if name not in self.stored:
            raise NotFound(404, "NotFound", name)
        self._store(patch)

    async def create(self, resource: Resource, obj: dict[str, Any], namespace: str) -> None:
        self._may_fail()
        self._store(obj)

    async def delete(self, resource: Resource, name: str, namespace: str) -> None:
        self.stored.pop(name, None)

    def _store(self, lease: dict[str, Any]) -> None:
        self.stored[lease["metadata"]["name"]] = lease
        self.writes.append(lease["metadata"]["annotations"]["fairway.dev/programmed"])

    def _may_fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable(503, "ServiceUnavailable", "away")


@asynccontextmanager
async def publishing(leases: Leases, pauses: list[float]) -> AsyncIterator[Progress]:
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    progress = Progress(leases, "n1", lambda: now, sleep)  # type: ignore[arg-type]
    task = asyncio.create_task(progress.run())
    yield progress
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_the_lease_of_this_node_says_the_latest_revision() -> None:
    leases, pauses = Leases(), list[float]()
    async with publishing(leases, pauses) as progress:
        progress.reached(7)
        progress.reached(9)
        await settle()
        lease = leases.stored["fairway-progress-n1"]
        assert lease["metadata"]["annotations"] == {"fairway.dev/programmed": "9"}
        assert lease["metadata"]["namespace"] == "kube-system"
        assert lease["spec"]["renewTime"] == "2026-01-02T03:04:05.000000Z"
        assert leases.writes == ["9"]
        assert pauses == [0.2]


async def test_nothing_is_written_unless_something_changed() -> None:
    leases, pauses = Leases(), list[float]()
    async with publishing(leases, pauses) as progress:
        for revision in (7, 7, 7):
            progress.reached(revision)
            await settle()
        assert leases.writes == ["7"]


async def test_what_could_not_be_written_is_tried_again() -> None:
    leases, pauses = Leases(), list[float]()
    leases.failures = 2
    async with publishing(leases, pauses) as progress:
        progress.reached(7)
        await settle()
        assert leases.writes == ["7"]


async def test_the_lease_is_taken_away_at_the_end() -> None:
    leases, pauses = Leases(), list[float]()
    async with publishing(leases, pauses) as progress:
        progress.reached(7)
        await settle()
    assert leases.stored == {}
