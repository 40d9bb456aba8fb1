"""The ingress component: follows the cluster, tells nginx, reports back, until it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import structlog

from fairway.api.objects import EndpointSlice, Service
from fairway.api.resources import (
    CONFIG_MAPS,
    ENDPOINT_SLICES,
    INGRESS_CLASSES,
    INGRESSES,
    SECRETS,
    SERVICES,
)
from fairway.client import Client, Informer, KubeConfig
from fairway.client.backoff import Backoff
from fairway.client.events import EventRecorder
from fairway.ingress.config import Config
from fairway.ingress.control import Control, ControlError
from fairway.ingress.nginx import Nginx
from fairway.ingress.objects import ConfigMap, Ingress, IngressClass, Secret
from fairway.ingress.reports import Reporter
from fairway.ingress.status_server import StatusServer
from fairway.ingress.table import Table

log = structlog.get_logger()
T = TypeVar("T")
_GATHER = 0.005
_SAVE_SECONDS = 5.0


async def run(config: Config, ready: Callable[[], None] = lambda: None) -> None:
    """Works until cancelled; calls `ready` once everything known at the start is in force."""
    kubeconfig = KubeConfig.load(config.kubeconfig) if config.kubeconfig else KubeConfig.from_env()
    nginx = Nginx(config)
    nginx.prepare()
    await nginx.start()
    try:
        async with Client(kubeconfig, component="ingress") as client:
            await _Controller(config, client, nginx).run(ready)
    finally:
        await nginx.stop()


class _Controller:
    """What one run holds together."""

    def __init__(self, config: Config, client: Client, nginx: Nginx) -> None:
        self._config, self._nginx = config, nginx
        self._table = Table(config.controllers, config.watch_without_class)
        self._control = Control(nginx.settings.socket)
        self._awake = asyncio.Event()
        self._restarted = asyncio.Event()
        self._unsaved = True
        self._ingresses = Informer(client, INGRESSES, type=Ingress)
        self._services = Informer(client, SERVICES, type=Service)
        self._informers: list[Informer[Any]] = []
        table = self._table
        self._follow_kind(self._ingresses, table.ingress_changed)
        self._follow_kind(self._services, table.service_changed)
        self._follow_kind(Informer(client, INGRESS_CLASSES, type=IngressClass), table.class_changed)
        self._follow_kind(Informer(client, ENDPOINT_SLICES, type=EndpointSlice), table.slice_changed)
        self._follow_kind(Informer(client, SECRETS, type=Secret), table.secret_changed)
        self._follow_kind(Informer(client, CONFIG_MAPS, type=ConfigMap), table.headers_changed)
        recorder = EventRecorder(client, "fairway-ingress")
        self._reporter = Reporter(client, recorder, config, self._services)
        self._status = StatusServer(config, self._control, table, nginx)

    def _follow_kind(self, informer: Informer[T], changed: Callable[[str, T | None, T | None], None]) -> None:
        def on_change(key: str, old: T | None, new: T | None) -> None:
            changed(key, old, new)
            self._awake.set()

        informer.on_change(on_change)
        self._informers.append(informer)

    async def run(self, ready: Callable[[], None]) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                for informer in self._informers:
                    tasks.create_task(informer.run())
                for informer in self._informers:
                    await informer.synced()
                await self._tell_everything()
                log.info("serving", ingresses=len(self._table.ours()), port=self._config.http_port)
                tasks.create_task(self._nginx.keep_running(self._restarted))
                tasks.create_task(self._follow_restarts())
                tasks.create_task(self._save())
                tasks.create_task(self._status.run())
                tasks.create_task(self._reporter.run(self._table))
                ready()
                await self._follow()
        finally:
            await self._control.close()

    async def _follow(self) -> None:
        backoff = Backoff(shortest=0.05, longest=5.0)
        while True:
            await self._awake.wait()
            await asyncio.sleep(_GATHER)
            self._awake.clear()
            try:
                await self._tell_changes()
            except ControlError as error:
                log.error("nginx could not be told", error=str(error))
                await asyncio.sleep(backoff.next())
                self._restarted.set()
            else:
                backoff.reset()

    async def _tell_changes(self) -> None:
        change = self._table.take()
        self._nginx.write_passwords(self._table.files)
        if change:
            await self._control.change(change)
            self._reporter.wake()
            self._unsaved = True

    async def _tell_everything(self) -> None:
        self._awake.clear()
        self._table.take()
        self._nginx.write_passwords(self._table.files)
        await self._control.replace(self._table.entries())
        self._unsaved = True
        self._reporter.wake()

    async def _save(self) -> None:
        """Now and then: only an nginx that starts without us needs it."""
        while True:
            if self._unsaved:
                self._unsaved = False
                self._nginx.save(self._table.entries())
            await asyncio.sleep(_SAVE_SECONDS)

    async def _follow_restarts(self) -> None:
        """A new nginx starts from what was saved; what has changed since is told at once."""
        while True:
            await self._restarted.wait()
            self._restarted.clear()
            try:
                await self._tell_everything()
            except ControlError as error:
                log.error("nginx could not be told", error=str(error))
                await asyncio.sleep(1)
                self._restarted.set()
