"""The proxy component: follows the cluster and programs the node it runs on until it is cancelled.

What the kernel holds stays in force when this ends, and while the API server is away: connections and new
clients alike are served by the last known state.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import structlog

from fairway.api.objects import Node, View
from fairway.api.resources import ENDPOINT_SLICES, NODES, SERVICE_CIDRS, SERVICES
from fairway.client import Client, ClientError, Informer, KubeConfig, NotFound
from fairway.client.progress import Progress
from fairway.proxy.changes import Tracker
from fairway.proxy.config import Config, settings
from fairway.proxy.config_file import until_changed
from fairway.proxy.leftovers import after_programming, before_programming, remove_leftovers
from fairway.proxy.model import ZONE_LABEL
from fairway.proxy.modes import opened
from fairway.proxy.node_limits import forward_packets, limit_connections, weigh
from fairway.proxy.programming import Mode, Pace, Programmer, Watched
from fairway.proxy.settings import Settings
from fairway.proxy.surface import Surface
from fairway.proxy.topology import Place
from fairway.proxy.views import EndpointSlice, Service

log = structlog.get_logger()

# Seconds between looks for what others have changed, where the kernel tells of it and where it doesn't.
_LOOK_IF_TOLD, _LOOK = 10.0, 1.0


class ServiceCidrSpec(View, frozen=True):
    cidrs: tuple[str, ...] = ()


class ServiceCidr(View, frozen=True):
    spec: ServiceCidrSpec = ServiceCidrSpec()


async def run(config: Config, ready: Callable[[], None] = lambda: None) -> None:
    """Works until cancelled; calls `ready` once the first full state is in force."""
    kubeconfig = KubeConfig.load(config.kubeconfig) if config.kubeconfig else KubeConfig.from_env()
    if config.master:
        kubeconfig = replace(kubeconfig, server=config.master)
    for what, reason in config.without_effect.items():
        log.info("accepted, but without effect here", what=what, reason=reason)
    if config.proxy_port_range:
        reason = "the relay has addresses of its own and takes no port of the node's"
        log.info("accepted, but without effect here", what="portRange", reason=reason)
    weigh(config.oom_score_adj)
    forward_packets()
    # Objects live long and hold no cycles: collecting as often as usual takes a third of the start.
    gc.set_threshold(50_000, 20, 100)
    # Counting for /metrics is work for a thread of its own: it holds up the one that programs for no longer.
    sys.setswitchinterval(0.0005)
    initial = settings(config, None, ())
    with (
        opened(config.proxy_mode, initial, config.hostname_override) as mode,
        ThreadPoolExecutor(1, "kernel") as worker,
    ):
        # Opening a mode has brought connection tracking in.
        limit_connections(config.conntrack)
        async with Client(kubeconfig, component="proxy") as client:
            await _Proxy(config, client, mode, worker).run(ready)


class _Proxy:
    """What one run holds together."""

    def __init__(
        self, config: Config, client: Client, mode: Mode[Settings], worker: ThreadPoolExecutor
    ) -> None:
        node = config.hostname_override
        self._config, self._client = config, client
        self._services = Informer(client, SERVICES, type=Service)
        # All slices, also those of no concern here: their revisions count as reached, too.
        self._slices = Informer(client, ENDPOINT_SLICES, type=EndpointSlice)
        self._node = Informer(client, NODES, type=Node, field_selector=f"metadata.name={node}")
        self._cidrs = Informer(client, SERVICE_CIDRS, type=ServiceCidr)
        self._tracker = Tracker(Place(node))
        self._settings = self._current_settings()
        self._progress = Progress(client, node)
        self._surface = Surface(config, mode, lambda: len(self._tracker))
        self._surface.reconfigured(self._settings)
        self._mode = mode
        self._programmer: Programmer[Settings] = Programmer(
            self._tracker,
            mode,
            worker,
            revision=lambda: self._slices.resource_version,
            reached=self._progress.reached,
            pace=Pace(
                check=_LOOK_IF_TOLD if isinstance(mode, Watched) and mode.watch else _LOOK,
                least=config.min_sync_period,
                everything=config.sync_period,
            ),
            observer=self._surface,
        )
        self._services.on_change(self._service_changed)
        self._slices.on_change(self._slice_changed)
        self._node.on_change(self._node_changed)
        self._cidrs.on_change(lambda key, old, new: self._reconfigure())

    async def run(self, ready: Callable[[], None]) -> None:
        async with asyncio.TaskGroup() as tasks:

            def started() -> None:
                tasks.create_task(self._started(ready))

            for informer in (self._services, self._slices, self._node):
                tasks.create_task(informer.run())
            tasks.create_task(self._follow_service_cidrs())
            tasks.create_task(self._publish())
            tasks.create_task(self._surface.run(self._programmer))
            if self._config.file:
                tasks.create_task(until_changed(self._config.file))
            for synced in (self._services.synced(), self._slices.synced(), self._node.synced()):
                await synced
            # What lives now lives for ever; the collector needn't look at it again and again.
            gc.freeze()
            mode = self._config.proxy_mode
            await self._programmer.ask(lambda: remove_leftovers(before_programming(mode)))
            with self._watching():
                await self._programmer.run(started)

    async def _started(self, ready: Callable[[], None]) -> None:
        mode = self._config.proxy_mode
        await self._programmer.ask(lambda: remove_leftovers(after_programming(mode)))
        log.info("programmed", mode=mode, services=len(self._tracker), node=self._config.hostname_override)
        gc.freeze()
        ready()

    @contextlib.contextmanager
    def _watching(self) -> Iterator[None]:
        """Have the kernel tell at once what others change, where the mode knows how."""
        watch = self._mode.watch if isinstance(self._mode, Watched) else None
        if watch is None:
            yield
            return
        loop = asyncio.get_running_loop()
        loop.add_reader(watch.fileno(), lambda: self._programmer.suspect() if watch.was_touched() else None)
        try:
            yield
        finally:
            loop.remove_reader(watch.fileno())

    def _service_changed(self, key: str, old: Service | None, new: Service | None) -> None:
        self._surface.service_changed()
        self._tracker.service_changed(key, old, new)
        self._programmer.wake()

    def _slice_changed(self, key: str, old: EndpointSlice | None, new: EndpointSlice | None) -> None:
        self._surface.slice_changed(new)
        self._tracker.slice_changed(key, old, new)
        self._programmer.wake()

    def _node_changed(self, key: str, old: Node | None, new: Node | None) -> None:
        if key != self._config.hostname_override:
            return
        self._surface.node_changed(new)
        self._tracker.move(Place(key, new.metadata.label(ZONE_LABEL) if new else ""))
        self._reconfigure()
        self._programmer.wake()

    def _current_settings(self) -> Settings:
        cidrs = [cidr for entry in self._cidrs.items().values() for cidr in entry.spec.cidrs]
        return settings(self._config, self._node.get(self._config.hostname_override), cidrs)

    def _reconfigure(self) -> None:
        current = self._current_settings()
        if current != self._settings:
            self._settings = current
            self._surface.reconfigured(current)
            self._programmer.configure(current)

    async def _follow_service_cidrs(self) -> None:
        """Unless the ranges are configured, or the server is too old to name them."""
        if self._config.service_cluster_ip_range:
            return
        while True:
            try:
                await self._client.list(SERVICE_CIDRS, limit=1)
                break
            except NotFound:
                log.info("the server names no service ranges; unused virtual IPs will not be refused")
                return
            except ClientError:
                await asyncio.sleep(1)
        await self._cidrs.run()

    async def _publish(self) -> None:
        wanted = self._config.publish_progress
        while wanted is None:
            try:
                wanted = b"fairway" in await self._client.request("GET", "/version")
            except ClientError:
                await asyncio.sleep(1)
        if wanted:
            await self._progress.run()
