"""Tells the cluster how far a component is, in a Lease that others can wait for.

Lease `fairway-progress-NAME` in kube-system, NAME a node or `dns-` and a server; its annotation holds the
highest EndpointSlice revision fully in force there. Written only when that has changed, at most five times a
second, and taken away at the end.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import structlog

from fairway.api.progress import LEASE_NAMESPACE, LEASE_PREFIX, PROGRAMMED
from fairway.api.resources import LEASES
from fairway.client.errors import ClientError, NotFound
from fairway.client.rest import Client

log = structlog.get_logger()

_PAUSE = 0.2


def lease_name(name: str) -> str:
    return f"{LEASE_PREFIX}{name}"


class Progress:
    """Publishes the revisions it is told: the latest, not each one."""

    def __init__(
        self,
        client: Client,
        name: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client, self._name, self._now, self._sleep = client, name, now, sleep
        self._revision = 0
        self._changed = asyncio.Event()
        self.stays = False
        """Whether the Lease is left to a successor at the end."""

    def reached(self, revision: int) -> None:
        # Not only upwards: a server restored from an older state starts over.
        if revision != self._revision:
            self._revision = revision
            self._changed.set()

    async def run(self) -> None:
        """For ever, until cancelled."""
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                await self._publish()
                await self._sleep(_PAUSE)
        finally:
            if not self.stays:
                await self._remove()

    async def _remove(self) -> None:
        with contextlib.suppress(ClientError, TimeoutError):
            async with asyncio.timeout(1):
                await self._client.delete(LEASES, lease_name(self._name), namespace=LEASE_NAMESPACE)

    async def _publish(self) -> None:
        lease = self._lease()
        try:
            try:
                await self._client.patch(LEASES, lease_name(self._name), lease, namespace=LEASE_NAMESPACE)
            except NotFound:
                await self._client.create(LEASES, lease, namespace=LEASE_NAMESPACE)
        except ClientError as error:
            # Those who wait do so for a bounded time only.
            log.warning("progress not published", error=str(error))
            self._changed.set()

    def _lease(self) -> dict[str, Any]:
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {
                "name": lease_name(self._name),
                "namespace": LEASE_NAMESPACE,
                "annotations": {PROGRAMMED: str(self._revision)},
            },
            "spec": {
                "holderIdentity": self._name,
                "renewTime": self._now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }
