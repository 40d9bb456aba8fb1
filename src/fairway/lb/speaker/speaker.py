"""One node's part: follows Services, endpoints and Leases, and holds the addresses that it may hold."""

from __future__ import annotations

import asyncio
import contextlib
import time

import structlog

from fairway.api.objects import EndpointSlice, Node
from fairway.api.resources import ENDPOINT_SLICES, LEASES, NODES, SERVICES
from fairway.client import Client, EventRecorder, Informer, reference
from fairway.kernel.link import Link
from fairway.lb.config import Config
from fairway.lb.objects import NAMESPACE, Lease, Service
from fairway.lb.speaker.announcer import Announcer
from fairway.lb.speaker.leases import Keeper
from fairway.lb.speaker.model import (
    LEASE_LABEL,
    Announcement,
    announcements,
    is_healthy,
    lease_name,
    local_services,
    may_hold,
)

log = structlog.get_logger()
LINK_CHECK_SECONDS = 0.5
HAND_OVER_SECONDS = 3.0
CONFLICT_SECONDS = 30.0


class Caches:
    """What a node follows; the balancer reads the same."""

    def __init__(self, client: Client) -> None:
        self.services = Informer(client, SERVICES, type=Service)
        self.slices = Informer(client, ENDPOINT_SLICES, type=EndpointSlice)
        self.nodes = Informer(client, NODES, type=Node)

    async def run(self, group: asyncio.TaskGroup) -> None:
        informers = (self.services, self.slices, self.nodes)
        for informer in informers:
            group.create_task(informer.run())
        for informer in informers:
            await informer.synced()


class Speaker:
    def __init__(
        self, config: Config, client: Client, recorder: EventRecorder, link: Link, caches: Caches
    ) -> None:
        self._config, self._client, self._recorder = config, client, recorder
        self._link, self._caches = link, caches
        self._leases = Informer(client, LEASES, type=Lease, namespace=NAMESPACE, label_selector=LEASE_LABEL)
        self._announcer = Announcer(link, self._may_answer, self._conflict, self._contested)
        self._wanted: dict[str, Announcement] = {}
        self._keepers: dict[str, Keeper] = {}
        self._by_lease: dict[str, Keeper] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._link_up = link.is_up()
        self._dirty = asyncio.Event()
        self._reported: dict[str, float] = {}
        self._started = time.monotonic()
        self._vanished: dict[str, float] = {}

    async def run(self) -> None:
        """Needs caches that have synced. On the way out every address is handed over."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._leases.run())
            await self._leases.synced()
            for informer in (self._caches.services, self._caches.slices, self._caches.nodes):
                informer.on_change(self._changed)
            self._leases.on_change(self._lease_changed)
            group.create_task(self._watch_link())
            stop = self._announcer.run()
            log.info("speaking", node=self._config.node, interface=self._config.interface)
            try:
                while True:
                    await self._dirty.wait()
                    self._dirty.clear()
                    self._settle(group)
            finally:
                stop()
                await self._hand_over()

    def _changed(self, key: str, old: object, new: object) -> None:
        self._dirty.set()

    def _lease_changed(self, key: str, old: Lease | None, new: Lease | None) -> None:
        name = key.rpartition("/")[2]
        if new is None:
            self._vanished[name] = time.monotonic()
        if (keeper := self._by_lease.get(name)) is not None:
            keeper.observe(new)

    def _settle(self, group: asyncio.TaskGroup) -> None:
        """Keepers for the addresses there are, each told whether this node may hold it."""
        self._wanted = announcements(self._caches.services.items().values(), self._config.default_class)
        for address in self._keepers.keys() - self._wanted.keys():
            self._drop(address, group)
        node = self._caches.nodes.get(self._config.node)
        healthy = self._link_up and is_healthy(node)
        local = frozenset[str]()
        if any(wanted.local for wanted in self._wanted.values()):
            local = local_services(self._caches.slices.items().values(), self._config.node)
        for address, wanted in self._wanted.items():
            keeper = self._keepers.get(address) or self._keep(address, group)
            keeper.allow(may_hold(wanted, local, healthy))

    def _keep(self, address: str, group: asyncio.TaskGroup) -> Keeper:
        name = lease_name(address)
        keeper = self._keepers[address] = self._by_lease[name] = Keeper(
            self._client,
            address,
            self._config.node,
            self._config.terms,
            time.monotonic,
            self._announcer.ask,
            self._announcer.taken,
            absent_since=self._vanished.get(name, self._started),
        )
        self._announcer.listen(address)
        if (lease := self._leases.get(f"{NAMESPACE}/{name}")) is not None:
            keeper.observe(lease)
        self._tasks[address] = group.create_task(keeper.run())
        return keeper

    def _drop(self, address: str, group: asyncio.TaskGroup) -> None:
        keeper = self._keepers.pop(address)
        self._by_lease.pop(lease_name(address), None)
        keeper.ownership.silence()
        self._announcer.forget(address)
        group.create_task(self._abandon(keeper, self._tasks.pop(address)))

    async def _abandon(self, keeper: Keeper, task: asyncio.Task[None]) -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await keeper.abandon()

    async def _hand_over(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        # With the API server out of reach the others wait for the Leases to end, and we for nobody.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HAND_OVER_SECONDS):
                await asyncio.gather(*(keeper.leave() for keeper in self._keepers.values()))

    async def _watch_link(self) -> None:
        """An interface without a carrier answers nobody, so someone else had better."""
        while True:
            await asyncio.sleep(LINK_CHECK_SECONDS)
            if (up := self._link.is_up()) != self._link_up:
                log.warning("link changed", interface=self._config.interface, up=up)
                self._link_up = up
                self._dirty.set()

    def _may_answer(self, address: str) -> bool:
        keeper = self._keepers.get(address)
        return keeper is not None and keeper.may_answer()

    def _contested(self, address: str) -> None:
        if (keeper := self._keepers.get(address)) is not None:
            keeper.ownership.contested()

    def _conflict(self, address: str, mac: str) -> None:
        now = time.monotonic()
        if now - self._reported.get(address, -CONFLICT_SECONDS) < CONFLICT_SECONDS:
            return
        self._reported[address] = now
        log.error("another machine answers for our address", address=address, mac=mac)
        for key in self._wanted[address].services if address in self._wanted else ():
            if (service := self._caches.services.get(key)) is not None:
                text = (
                    f"{mac} also answers for {address}, which node {self._config.node} holds: some clients"
                    " reach the wrong machine. Find it, or take the address out of the pool"
                )
                about = reference(SERVICES, service.metadata)
                self._recorder.record(about, "AddressConflict", text, kind="Warning")
