"""Carries out what `ownership` decides for one address: writes its Lease and tells when it changes hands.

Every write names the revision it is based on, so that of two nodes that reach for an address one fails.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import structlog

from fairway.api.resources import LEASES
from fairway.client import AlreadyExists, ApiError, Client, Conflict, NotFound
from fairway.lb.config import Terms
from fairway.lb.objects import NAMESPACE, Lease
from fairway.lb.speaker.model import LEASE_LABEL, lease_name
from fairway.lb.speaker.ownership import ASK_SECONDS, Act, Ownership, Record

log = structlog.get_logger()
ATTEMPTS = 3
# Single frames get lost.
QUESTIONS = 4
LEAVE_ANNOTATION = "fairway.dev/leave"


def record_of(lease: Lease) -> Record:
    version = lease.metadata.resource_version
    return Record(
        holder=lease.spec.holder_identity or "",
        duration=float(lease.spec.lease_duration_seconds or 0),
        renewed=lease.spec.renew_time or "",
        version=int(version) if version.isdecimal() else 0,
        transitions=lease.spec.lease_transitions or 0,
        leave=lease.metadata.annotation(LEAVE_ANNOTATION),
    )


class Keeper:
    """Holds, or waits to hold, one address for one node. `taken` is called when it becomes ours, and before
    that `ask`, again and again, if it was another node's.

    `absent_since`: for how long we know that there is no Lease, if there is none.
    """

    def __init__(
        self,
        client: Client,
        address: str,
        node: str,
        terms: Terms,
        clock: Callable[[], float],
        ask: Callable[[str], None],
        taken: Callable[[str], None],
        absent_since: float,
    ) -> None:
        self.address = address
        self.ownership = Ownership(address, node, terms, absent_since)
        self._client = client
        self._node = node
        self._terms = terms
        self._clock = clock
        self._ask, self._taken = ask, taken
        self._eligible = False
        self._reached = True
        self._wake = asyncio.Event()

    def may_answer(self) -> bool:
        return self.ownership.may_answer(self._clock())

    def observe(self, lease: Lease | None) -> None:
        self.ownership.observe(record_of(lease) if lease else None, self._clock())
        self._wake.set()

    def allow(self, eligible: bool) -> None:
        if eligible != self._eligible:
            self._eligible = eligible
            self._wake.set()

    async def run(self) -> None:
        while True:
            self._wake.clear()
            step = self.ownership.step(self._clock(), self._eligible)
            if step.act is Act.CLAIM:
                await self._claim()
            elif step.act is Act.LEAVE:
                await self.leave()
            else:
                await self._wait(step.until)

    async def leave(self) -> None:
        """Silent first, then known to be so. Whoever waits may take over at once."""
        self.ownership.silence()
        for _ in range(ATTEMPTS):
            record = self.ownership.record
            if record is None or record.holder != self._node:
                return
            log.info("giving an address up", address=self.address)
            # This fails when a renewal of ours was under way, and is then based on that.
            await self._write(record, holder="", began=self._clock())

    async def abandon(self) -> None:
        """Nobody uses the address any more: its Lease goes with it, if it is ours."""
        await self.leave()
        record = self.ownership.record
        if record is None or record.holder:
            return
        try:
            await self._client.delete(
                LEASES, lease_name(self.address), namespace=NAMESPACE, resource_version=str(record.version)
            )
        except ApiError as error:
            log.debug("lease not deleted", address=self.address, error=str(error))

    async def _wait(self, until: float) -> None:
        timeout = None if until == math.inf else max(0.0, until - self._clock())
        try:
            await asyncio.wait_for(self._wake.wait(), timeout)
        except TimeoutError:
            return

    async def _claim(self) -> None:
        held = self.may_answer()
        await self._write(self.ownership.record, holder=self._node, began=self._clock())
        while self.ownership.must_ask(now := self._clock()):
            self._ask(self.address)
            self.ownership.asking(now)
            await asyncio.sleep(ASK_SECONDS / QUESTIONS)
        if self.may_answer() and not held:
            log.info("address taken", address=self.address, node=self._node)
            self._taken(self.address)

    async def _write(self, before: Record | None, holder: str, began: float) -> None:
        try:
            async with asyncio.timeout(self._terms.duration):
                written = await self._put(before, holder)
        except (Conflict, AlreadyExists, NotFound):
            if not await self._look():
                self.ownership.contested()
            self.ownership.failed(self._clock())
        except (ApiError, TimeoutError) as error:
            self.ownership.unreachable(self._clock())
            self._note_failure(str(error) or "no answer in time")
        else:
            self._reached = True
            if holder:
                self.ownership.claimed(record_of(written), began, self._clock(), before)
            else:
                self.ownership.observe(record_of(written), self._clock())

    def _note_failure(self, error: str) -> None:
        """Once, not several times a second for each address."""
        if self._reached:
            log.warning("lease not written", address=self.address, answering=self.may_answer(), error=error)
        self._reached = False

    async def _look(self) -> bool:
        """Someone was faster, if only a write of our own that got no answer: see who, if that can be seen."""
        try:
            async with asyncio.timeout(self._terms.duration):
                found = await self._client.get(
                    LEASES, lease_name(self.address), namespace=NAMESPACE, type=Lease
                )
                self.observe(found)
        except NotFound:
            self.observe(None)
        except (ApiError, TimeoutError) as error:
            log.debug("lease not read", address=self.address, error=str(error))
            return False
        return True

    async def _put(self, before: Record | None, holder: str) -> Lease:
        metadata: dict[str, Any] = {
            "name": lease_name(self.address),
            "namespace": NAMESPACE,
            "labels": {LEASE_LABEL: ""},
        }
        changed = before is None or (bool(holder) and before.holder != holder)
        transitions = 0 if before is None else before.transitions + changed
        if not holder and before is not None and before.leave:
            # The request to leave stays until someone else has come.
            metadata["annotations"] = {LEAVE_ANNOTATION: before.leave}
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": self._terms.duration,
            "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "leaseTransitions": transitions,
        }
        if before is None:
            return await self._client.create(LEASES, {"metadata": metadata, "spec": spec}, type=Lease)
        metadata["resourceVersion"] = str(before.version)
        return await self._client.update(LEASES, {"metadata": metadata, "spec": spec}, type=Lease)
