"""Waiting, for a short time only, until proxies and DNS no longer lead anyone to a Pod.

The slices of a namespace and the Leases are watched only while a Pod there is being ended, and by all such
Pods together. The decision itself is pure (`draining`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from fairway.api.progress import LEASE_NAMESPACE
from fairway.api.resources import ENDPOINT_SLICES, LEASES
from fairway.client import ApiError, Client, Informer
from fairway.nodeagent.objects import Pod
from fairway.nodeagent.pods.draining import Lease, Slice, laggards, progress

log = structlog.get_logger()
PATIENCE = 3.0


class _Watch:
    """Both collections, followed; `next_change` waits for the next in either."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.slices = Informer(client, ENDPOINT_SLICES, type=Slice, namespace=namespace)
        self.leases = Informer(client, LEASES, type=Lease, namespace=LEASE_NAMESPACE)
        self.users = 0
        for informer in (self.slices, self.leases):
            informer.on_change(lambda *_: self._notify())
        self.tasks = [asyncio.create_task(informer.run()) for informer in (self.slices, self.leases)]
        self._turn = asyncio.Event()

    def _notify(self) -> None:
        turn, self._turn = self._turn, asyncio.Event()
        turn.set()

    async def next_change(self) -> None:
        await self._turn.wait()

    async def synced(self) -> None:
        await self.slices.synced()
        await self.leases.synced()

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class DrainWatch:
    def __init__(self, client: Client, patience: float = PATIENCE) -> None:
        self._client = client
        self._patience = patience
        self._watches: dict[str, _Watch] = {}
        self._given_up: dict[str, str] = {}

    async def wait(self, pod: Pod) -> None:
        """Returns once nobody is behind, or after our patience; those still behind then are given up."""
        try:
            async with asyncio.timeout(self._patience):
                if await self._anyone_to_wait_for():
                    async with self._watching(pod.metadata.namespace) as watch:
                        await self._followed(watch, pod.metadata.uid)
        except TimeoutError:
            log.warning("pod ends though not everyone knows", pod=pod.metadata.key)
        except ApiError as error:
            log.warning("pod ends without waiting", pod=pod.metadata.key, error=str(error))

    async def _anyone_to_wait_for(self) -> bool:
        listing = await self._client.list(LEASES, namespace=LEASE_NAMESPACE, type=Lease)
        return bool(progress(listing.items, time.time(), self._given_up))

    async def _followed(self, watch: _Watch, uid: str) -> None:
        await watch.synced()
        try:
            while self._laggards(watch, uid) != frozenset():
                await watch.next_change()
        except asyncio.CancelledError:
            self._give_up(watch, uid)
            raise

    def _laggards(self, watch: _Watch, uid: str) -> frozenset[str] | None:
        slices, leases = watch.slices.items().values(), watch.leases.items().values()
        return laggards(slices, leases, uid, time.time(), self._given_up)

    def _give_up(self, watch: _Watch, uid: str) -> None:
        """Until they show a new sign of life: one dead proxy must not delay every Pod from now on."""
        leases = {lease.metadata.name: lease.spec.renew_time for lease in watch.leases.items().values()}
        self._given_up |= {name: leases[name] for name in self._laggards(watch, uid) or ()}

    @asynccontextmanager
    async def _watching(self, namespace: str) -> AsyncIterator[_Watch]:
        watch = self._watches.get(namespace)
        if watch is None:
            watch = self._watches[namespace] = _Watch(self._client, namespace)
        watch.users += 1
        try:
            yield watch
        finally:
            watch.users -= 1
            if watch.users == 0:
                del self._watches[namespace]
                await watch.stop()
