"""Tells the cluster how far this server's answers are, in a Lease that others can wait for.

Lease `fairway-progress-dns-NAME` in kube-system; the annotation holds the highest EndpointSlice revision
fully in force. Written only when that changed, at most five times a second, and taken away at the end.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import structlog

from fairway.api.resources import LEASES
from fairway.client import Client, ClientError, NotFound

log = structlog.get_logger()
NAMESPACE = "kube-system"
ANNOTATION = "fairway.dev/programmed"
_PAUSE = 0.2


def lease_name(name: str) -> str:
    return f"fairway-progress-dns-{name}"


class Progress:
    """Publishes the revisions it is told, the latest only."""

    def __init__(
        self, client: Client, name: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._client = client
        self._name = name
        self._now = now
        self._revision = 0
        self._changed = asyncio.Event()

    def reached(self, revision: int) -> None:
        if revision != self._revision:
            self._revision = revision
            self._changed.set()

    async def run(self) -> None:
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                await self._publish(self._revision)
                await asyncio.sleep(_PAUSE)
        finally:
            with contextlib.suppress(ClientError, TimeoutError):
                await asyncio.wait_for(self._remove(), 1.0)

    async def _publish(self, revision: int) -> None:
        lease = self._lease(revision)
        try:
            await self._client.patch(LEASES, lease_name(self._name), lease, namespace=NAMESPACE, kind="merge")
        except NotFound:
            await self._create(lease)
        except ClientError as error:
            # Others wait a bounded time only; the next change is published again.
            log.warning("progress not published", revision=revision, error=str(error))
            self._changed.set()

    async def _create(self, lease: dict[str, Any]) -> None:
        try:
            await self._client.create(LEASES, lease, namespace=NAMESPACE)
        except ClientError as error:
            log.warning("progress not published", error=str(error))
            self._changed.set()

    async def _remove(self) -> None:
        await self._client.delete(LEASES, lease_name(self._name), namespace=NAMESPACE)

    def _lease(self, revision: int) -> dict[str, Any]:
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": lease_name(self._name),
                "namespace": NAMESPACE,
                "annotations": {ANNOTATION: str(revision)},
            },
            "spec": {
                "holderIdentity": f"dns-{self._name}",
                "renewTime": self._now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }
