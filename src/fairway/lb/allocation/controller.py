"""Follows Services and pools, decides about all of them at once, and writes what has changed.

One decision at a time: the next one waits until our caches show what the last one wrote, so that no address
is ever given out twice. Only the leader runs this.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from datetime import UTC, datetime

import structlog

from fairway.api.objects import Node
from fairway.api.resources import CONFIG_MAPS, NODES, SERVICES
from fairway.client import ApiError, Client, Conflict, EventRecorder, Informer, NotFound, reference
from fairway.lb.allocation.model import Request, request
from fairway.lb.allocation.plan import Outcome, allocate
from fairway.lb.allocation.pools import Address, Pool, PoolError, read_pools
from fairway.lb.allocation.writes import Writes, provide, release
from fairway.lb.objects import CONFIG_MAP, NAMESPACE, ConfigMap, Service, is_ours

log = structlog.get_logger()
AT_ONCE = 16
CATCH_UP_SECONDS = 5.0
RETRY_SECONDS = 1.0


class Allocator:
    def __init__(self, client: Client, recorder: EventRecorder, default_class: bool) -> None:
        self._client = client
        self._recorder = recorder
        self._default_class = default_class
        self._services = Informer(client, SERVICES, type=Service)
        self._nodes = Informer(client, NODES, type=Node)
        self._config = Informer(
            client,
            CONFIG_MAPS,
            type=ConfigMap,
            namespace=NAMESPACE,
            field_selector=f"metadata.name={CONFIG_MAP}",
        )
        self._pools: tuple[Pool, ...] = ()
        self._dirty = asyncio.Event()
        self._config.on_change(self._config_changed)
        self._services.on_change(self._changed)
        self._nodes.on_change(self._changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            informers = (self._services, self._nodes, self._config)
            for informer in informers:
                group.create_task(informer.run())
            for informer in informers:
                await informer.synced()
            log.info("allocating", pools=len(self._pools), services=len(self._services.items()))
            while True:
                self._dirty.clear()
                if not await self._settle():
                    asyncio.get_running_loop().call_later(RETRY_SECONDS, self._dirty.set)
                await self._dirty.wait()

    def _changed(self, key: str, old: object, new: object) -> None:
        self._dirty.set()

    def _config_changed(self, key: str, old: ConfigMap | None, new: ConfigMap | None) -> None:
        try:
            self._pools = read_pools(new.text("config")) if new else ()
        except PoolError as error:
            # What was right before stays in force: a slip of the pen must not take addresses away.
            log.warning("pools not read", error=str(error))
            assert new is not None
            about = reference(CONFIG_MAPS, new.metadata)
            self._recorder.record(about, "PoolsNotRead", f"{error}; the former pools stay", kind="Warning")
        self._dirty.set()

    async def _settle(self) -> bool:
        """One decision about everything, written down; whether all of it could be."""
        services = list(self._services.items().values())
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        requests = {s.metadata.key: request(s) for s in services if self._is_served(s)}
        outcomes = allocate(self._pools, requests.values(), self._taken(services))
        changes = [(s, self._writes(s, requests, outcomes, now)) for s in services]
        limit = asyncio.Semaphore(AT_ONCE)
        tasks = [self._write(service, writes, limit) for service, writes in changes if writes]
        revisions = await asyncio.gather(*tasks)
        if revisions:
            await self._catch_up(max(revision or 0 for revision in revisions))
        return None not in revisions

    def _is_served(self, service: Service) -> bool:
        return is_ours(service, self._default_class) and service.metadata.deletion_timestamp is None

    def _writes(
        self, service: Service, requests: dict[str, Request], outcomes: dict[str, Outcome], now: str
    ) -> Writes:
        key = service.metadata.key
        if key in outcomes:
            return provide(service, requests[key], outcomes[key], now)
        return release(service, is_ours(service, self._default_class))

    def _taken(self, services: list[Service]) -> dict[Address, str]:
        """What is in use by others: nodes, and Services that another load balancer provides for."""
        found = {
            entry.address: f"node {node.metadata.name}"
            for node in self._nodes.items().values()
            for entry in node.status.addresses or ()
        }
        for service in services:
            if service.spec.type == "LoadBalancer" and not is_ours(service, self._default_class):
                for text in service.addresses:
                    found[text] = f"Service {service.metadata.key}, which another load balancer provides for"
        taken: dict[Address, str] = {}
        for text, owner in found.items():
            with contextlib.suppress(ValueError):
                taken[ipaddress.ip_address(text)] = owner
        return taken

    async def _write(self, service: Service, writes: Writes, limit: asyncio.Semaphore) -> int | None:
        """The revision reached, or None if it is to be tried again."""
        async with limit:
            try:
                revision = await self._patch(service, writes)
            except NotFound:
                return 0
            except Conflict:
                return None
            except ApiError as error:
                log.warning("not written", service=service.metadata.key, error=str(error))
                return None
        if notice := writes.notice:
            about = reference(SERVICES, service.metadata)
            kind = "Warning" if notice.warning else "Normal"
            self._recorder.record(about, notice.reason, notice.message, kind=kind)  # type: ignore[arg-type]
        return revision

    async def _patch(self, service: Service, writes: Writes) -> int:
        meta = service.metadata
        version = meta.resource_version
        for part in ("status", "metadata") if writes.metadata_last else ("metadata", "status"):
            if (wanted := getattr(writes, part)) is None:
                continue
            guard = {"resourceVersion": version}
            patch = (
                {"metadata": wanted | guard} if part == "metadata" else {"metadata": guard, "status": wanted}
            )
            answer = await self._client.patch(
                SERVICES,
                meta.name,
                patch,
                namespace=meta.namespace,
                subresource="status" if part == "status" else None,
                type=Service,
            )
            version = answer.metadata.resource_version
        return int(version) if version.isdecimal() else 0

    async def _catch_up(self, revision: int) -> None:
        """Until the cache shows it; a server whose revisions don't count up is not waited for long."""
        try:
            async with asyncio.timeout(CATCH_UP_SECONDS):
                while self._services.resource_version < revision:
                    self._dirty.clear()
                    await self._dirty.wait()
        except TimeoutError:
            log.warning("the cache lags behind", revision=revision)
        self._dirty.set()
