"""Leadership through a Lease: taken when free or expired, renewed, lost, given back."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from fairway.client import ApiError, Client, Conflict, KubeConfig, LeaderElector, NotFound, Unavailable

from .fake_api import eventually


class LeaseStore(Client):
    """One Lease in memory, with the server's answers for a stale or missing one."""

    def __init__(self) -> None:
        super().__init__(KubeConfig(server="http://unused"))
        self.lease: dict[str, Any] | None = None
        self.failure: ApiError | None = None

    def _answer(self, lease: dict[str, Any] | None) -> dict[str, Any]:
        if self.failure:
            raise self.failure
        if lease is None:
            raise NotFound(404, "NotFound")
        return lease

    async def get(self, *args: Any, **kwargs: Any) -> Any:
        return self._answer(self.lease)

    async def create(self, resource: Any, obj: Any, **kwargs: Any) -> Any:
        self.store(obj["spec"])
        return self._answer(self.lease)

    async def update(self, resource: Any, obj: Any, **kwargs: Any) -> Any:
        if obj["metadata"] != self._answer(self.lease)["metadata"]:
            raise Conflict(409, "Conflict")
        self.store(obj["spec"])
        return self.lease

    def store(self, spec: dict[str, Any]) -> None:
        revision = int(self.lease["metadata"]["resourceVersion"]) if self.lease else 0
        self.lease = {"metadata": {"name": "l", "resourceVersion": str(revision + 1)}, "spec": spec}

    @property
    def holder(self) -> str | None:
        return self.lease["spec"]["holderIdentity"] if self.lease else None


class Time:
    """Sleeping moves the clock, and lets the others run."""

    def __init__(self) -> None:
        self.now = 1000.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)

    def utc(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)


@pytest.fixture
def store() -> LeaseStore:
    return LeaseStore()


@pytest.fixture
def clock() -> Time:
    return Time()


def elector(store: LeaseStore, clock: Time, identity: str = "me") -> LeaderElector:
    return LeaderElector(store, "l", identity, clock=lambda: clock.now, now=clock.utc, sleep=clock.sleep)


OTHER = {"holderIdentity": "other", "leaseDurationSeconds": 15, "leaseTransitions": 3}


async def test_a_free_lease_is_taken_and_given_back(store: LeaseStore, clock: Time) -> None:
    held: list[str | None] = []

    async def lead() -> None:
        held.append(store.holder)

    await elector(store, clock).run(lead)
    assert held == ["me"]
    assert store.lease is not None
    assert store.lease["spec"]["holderIdentity"] == ""
    assert store.lease["spec"]["leaseDurationSeconds"] == 1
    assert store.lease["spec"]["leaseTransitions"] == 0
    assert store.lease["spec"]["acquireTime"] == "1970-01-01T00:16:40.000000Z"


async def test_an_unchanged_lease_is_taken_over_after_its_duration(store: LeaseStore, clock: Time) -> None:
    store.store(OTHER)
    started: list[float] = []

    async def lead() -> None:
        started.append(clock.now - 1000)
        assert store.lease is not None
        assert store.lease["spec"]["leaseTransitions"] == 4

    await elector(store, clock).run(lead)
    assert 15 <= started[0] < 15 + 2 * 2.4


async def test_a_lease_that_is_renewed_is_not_taken(store: LeaseStore, clock: Time) -> None:
    store.store(OTHER)
    waiting = asyncio.create_task(elector(store, clock).run(asyncio.Event().wait))  # type: ignore[arg-type]
    for turn in range(100):
        store.store(OTHER | {"renewTime": str(turn)})
        await asyncio.sleep(0)
    waiting.cancel()
    assert store.holder == "other"
    assert clock.now > 1100


async def test_work_is_cancelled_when_another_takes_the_lease(store: LeaseStore, clock: Time) -> None:
    cancelled = asyncio.Event()
    leading = asyncio.Event()

    async def lead() -> None:
        leading.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    running = asyncio.create_task(elector(store, clock).run(lead))
    await leading.wait()
    store.store(OTHER)
    await asyncio.wait_for(cancelled.wait(), 1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_work_is_cancelled_when_renewing_fails_for_too_long(store: LeaseStore, clock: Time) -> None:
    cancelled: list[float] = []
    leading = asyncio.Event()

    async def lead() -> None:
        leading.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(clock.now)

    running = asyncio.create_task(elector(store, clock).run(lead))
    await leading.wait()
    assert store.lease is not None
    renewed = datetime.fromisoformat(store.lease["spec"]["renewTime"]).timestamp()
    store.failure = Unavailable(0)
    await eventually(lambda: bool(cancelled))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert 10 <= cancelled[0] - renewed < 15


async def test_a_failing_leader_raises_and_gives_the_lease_back(store: LeaseStore, clock: Time) -> None:
    async def lead() -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await elector(store, clock).run(lead)
    assert store.holder == ""


async def test_of_two_only_one_leads_at_a_time(store: LeaseStore, clock: Time) -> None:
    leading: list[str] = []

    def work(identity: str) -> Any:
        async def lead() -> None:
            leading.append(identity)
            assert len(leading) == 1
            for _ in range(20):
                await asyncio.sleep(0)
            leading.remove(identity)
            done.append(identity)

        return lead

    done: list[str] = []
    await asyncio.wait_for(
        asyncio.gather(*(elector(store, clock, name).run(work(name)) for name in ("a", "b"))), 5
    )
    assert sorted(done) == ["a", "b"]
