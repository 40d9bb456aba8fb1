"""One leader among several processes, elected through a Lease as client-go does it.

Times of other machines are never compared with ours: a lease counts as expired when *we* have seen it
unchanged for its whole duration.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import structlog

from fairway.api.resources import LEASES
from fairway.client.errors import ApiError, NotFound
from fairway.client.rest import Client

log = structlog.get_logger()


@dataclass(slots=True)
class LeaderElector:
    """Durations are client-go's; `renew_deadline` must be shorter than `lease_duration`."""

    client: Client
    name: str
    identity: str
    namespace: str = "kube-system"
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    is_leader: bool = field(default=False, init=False)
    _observed: dict[str, Any] = field(default_factory=dict, init=False)
    _observed_at: float = field(default=0.0, init=False)

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait to be leader and run `lead`; when leadership is lost, cancel it and wait again.

        Returns when `lead` does. The lease is given back on the way out, so a successor needn't wait.
        """
        try:
            while True:
                await self._acquire()
                log.info("leading", lease=self.name, identity=self.identity)
                if await self._lead(lead):
                    return
                log.warning("leadership lost", lease=self.name, identity=self.identity)
        finally:
            await self._release()

    async def _acquire(self) -> None:
        while not await self._try(self.renew_deadline):
            await self.sleep(min(self.retry_period * (1 + 0.2 * random.random()), self._until_expiry()))

    async def _lead(self, lead: Callable[[], Awaitable[None]]) -> bool:
        """Whether `lead` ended by itself, rather than by losing the lease."""
        work, renewal = asyncio.ensure_future(lead()), asyncio.ensure_future(self._renew())
        try:
            await asyncio.wait({work, renewal}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
            return work.done()
        finally:
            work.cancel()
            renewal.cancel()
            await asyncio.gather(work, renewal, return_exceptions=True)

    async def _renew(self) -> None:
        """Returns when the lease is lost: someone else holds it, or we couldn't renew in time."""
        deadline = self.clock() + self.renew_deadline
        while (remaining := deadline - self.clock()) > 0:
            await self.sleep(min(self.retry_period, remaining))
            if await self._try(deadline - self.clock()):
                deadline = self.clock() + self.renew_deadline
            elif self._spec.get("holderIdentity") not in (self.identity, "", None):
                break
        self.is_leader = False

    async def _try(self, seconds: float) -> bool:
        """Take the lease if it is free, expired or ours already; whether we hold it now."""
        try:
            async with asyncio.timeout(seconds):
                held = await self._take()
        except (ApiError, TimeoutError) as error:
            log.debug("lease not taken", lease=self.name, error=str(error))
            return False
        self.is_leader = self.is_leader or held
        return held

    async def _take(self) -> bool:
        try:
            self._observe(await self.client.get(LEASES, self.name, namespace=self.namespace))
        except NotFound:
            lease = {"metadata": {"name": self.name, "namespace": self.namespace}, "spec": self._claim({})}
            self._observe(await self.client.create(LEASES, lease))
            return True
        if self._held_by_another():
            return False
        lease = self._observed | {"spec": self._spec | self._claim(self._spec)}
        self._observe(await self.client.update(LEASES, lease))
        return True

    @property
    def _spec(self) -> dict[str, Any]:
        return self._observed.get("spec") or {}

    def _observe(self, lease: dict[str, Any]) -> None:
        if lease.get("spec") != self._observed.get("spec"):
            self._observed_at = self.clock()
        self._observed = lease

    def _held_by_another(self) -> bool:
        holder = self._spec.get("holderIdentity")
        if not holder or holder == self.identity:
            return False
        return self.clock() < self._expiry

    @property
    def _expiry(self) -> float:
        return self._observed_at + float(self._spec.get("leaseDurationSeconds") or 0)

    def _until_expiry(self) -> float:
        """A lease that runs out is tried for at that moment; one that has already, at the usual pace."""
        left = self._expiry - self.clock()
        return left + 0.01 if left > 0 else self.retry_period

    def _claim(self, previous: dict[str, Any]) -> dict[str, Any]:
        now = self.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        ours = previous.get("holderIdentity") == self.identity
        transitions = previous.get("leaseTransitions") or 0
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, int(self.lease_duration)),
            "acquireTime": previous.get("acquireTime") if ours else now,
            "renewTime": now,
            "leaseTransitions": transitions if ours or not previous else transitions + 1,
        }

    async def _release(self) -> None:
        if not self.is_leader:
            return
        self.is_leader = False
        freed = self._spec | {"holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            async with asyncio.timeout(self.retry_period):
                await self.client.update(LEASES, self._observed | {"spec": freed})
        except (ApiError, TimeoutError) as error:
            log.debug("lease not released", lease=self.name, error=str(error))
