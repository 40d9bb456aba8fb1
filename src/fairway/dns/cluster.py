"""Where zones get their objects from: informers on Services, EndpointSlices, Namespaces and, if wanted, Pods.

One cluster serves any number of zones and outlives them when the Corefile is read anew. The API server may
go away: what was seen last stays in force.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import structlog

from fairway.api.objects import EndpointSlice, ObjectMeta, Pod, Service, View
from fairway.api.resources import ENDPOINT_SLICES, NAMESPACES, PODS, SERVICES
from fairway.client import Client, Informer, KubeConfig
from fairway.dns.zone.zone import Zone

log = structlog.get_logger()
_AT_ONCE = 250
"""Changed Services worked out in a row before questions get their turn again: some ten milliseconds."""


class Namespace(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class Cluster(Protocol):
    """What a `kubernetes` plugin needs of a cluster."""

    def fills(self, zone: Zone) -> bool:
        """Whether everything there is has been seen once and is in force in this zone."""

    def attach(self, zone: Zone) -> None:
        """Fills the zone and keeps it up to date from now on."""

    def detach(self, zone: Zone) -> None: ...


class WatchedCluster:
    """A cluster behind an API server."""

    def __init__(self, config: KubeConfig) -> None:
        self.client = Client(config, component="dns")
        self.programmed = 0
        """The highest EndpointSlice revision that answers reflect in full."""
        self.on_programmed: Callable[[int], None] = lambda revision: None
        self.on_filled: Callable[[], None] = lambda: None
        self._zones: list[Zone] = []
        self._filled: list[Zone] = []
        self._scheduled = False
        self._pods_wanted = asyncio.Event()
        self._services = Informer(self.client, SERVICES, type=Service)
        self._slices = Informer(self.client, ENDPOINT_SLICES, type=EndpointSlice)
        self._namespaces = Informer(self.client, NAMESPACES, type=Namespace)
        self._pods = Informer(self.client, PODS, type=Pod)
        self._services.on_change(self._service)
        self._slices.on_change(self._slice)
        self._namespaces.on_change(self._namespace)
        self._pods.on_change(self._pod)

    async def run(self) -> None:
        """Follows the API server until cancelled."""
        async with self.client, asyncio.TaskGroup() as tasks:
            for informer in (self._services, self._slices, self._namespaces):
                tasks.create_task(informer.run())
                tasks.create_task(self._flush_when_synced(informer))
            await self._pods_wanted.wait()
            tasks.create_task(self._flush_when_synced(self._pods))
            await self._pods.run()

    async def _flush_when_synced(self, informer: Informer[Any]) -> None:
        # An empty collection changes nothing that would be told; that it has been seen counts all the same.
        await informer.synced()
        self._schedule()

    def fills(self, zone: Zone) -> bool:
        return zone in self._filled

    def attach(self, zone: Zone) -> None:
        self._zones.append(zone)
        if zone.settings.pods == "verified":
            self._pods_wanted.set()
        for name, namespace in self._namespaces.items().items():
            zone.namespace_changed(name, namespace.metadata)
        for key, piece in self._slices.items().items():
            zone.slice_changed(key, piece)
        for key, service in self._services.items().items():
            zone.service_changed(key, service)
        for key, pod in self._pods.items().items():
            zone.pod_changed(key, None, pod)
        self._schedule()

    def detach(self, zone: Zone) -> None:
        self._zones.remove(zone)
        self._filled = [other for other in self._filled if other is not zone]

    # ---- what the informers tell -----------------------------------------------------------------------

    def _service(self, key: str, old: Service | None, new: Service | None) -> None:
        for zone in self._zones:
            zone.service_changed(key, new)
        self._schedule()

    def _slice(self, key: str, old: EndpointSlice | None, new: EndpointSlice | None) -> None:
        for zone in self._zones:
            zone.slice_changed(key, new)
        self._schedule()

    def _namespace(self, key: str, old: Namespace | None, new: Namespace | None) -> None:
        for zone in self._zones:
            zone.namespace_changed(key, new.metadata if new else None)
        self._schedule()

    def _pod(self, key: str, old: Pod | None, new: Pod | None) -> None:
        for zone in self._zones:
            zone.pod_changed(key, old, new)

    def _schedule(self) -> None:
        # A batch of events arrives in one go; working it out right after it does each Service once.
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        unfinished = [zone for zone in self._zones if not zone.flush(_AT_ONCE)]
        if unfinished:
            asyncio.get_running_loop().call_soon(self._flush)
            return
        self._scheduled = False
        self._filled += [zone for zone in self._zones if zone not in self._filled and self._seen_all(zone)]
        if self._slices.has_synced and self._filled:
            self.programmed = self._slices.resource_version
            self.on_programmed(self.programmed)
            self.on_filled()

    def _seen_all(self, zone: Zone) -> bool:
        seen = self._services.has_synced and self._slices.has_synced and self._namespaces.has_synced
        return seen and (zone.settings.pods != "verified" or self._pods.has_synced)
