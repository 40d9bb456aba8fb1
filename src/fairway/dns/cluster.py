"""Where zones get their objects from: informers on Services, EndpointSlices, Namespaces and, if wanted, Pods.

One cluster serves any number of zones and outlives them when the Corefile is read anew. The API server may
go away: what was seen last stays in force, and is kept on disk for a start without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import structlog

from fairway.api.objects import Pod
from fairway.api.resources import ENDPOINT_SLICES, NAMESPACES, PODS, SERVICES
from fairway.client import Client, ClientError, Informer, KubeConfig
from fairway.dns import snapshot
from fairway.dns.zone.views import EndpointSlice, Namespace, Service
from fairway.dns.zone.zone import Zone

log = structlog.get_logger()
_AT_ONCE = 250
"""Changed Services worked out in a row before questions get their turn again: some ten milliseconds."""
_PATIENCE = 1.0
"""Seconds that an API server which can be reached has before the snapshot is used in its place."""
_SNAPSHOT_EVERY = 10.0


TYPES: dict[str, type[Any]] = {
    "namespaces": Namespace,
    "endpointslices": EndpointSlice,
    "services": Service,
    "pods": Pod,
}


class Cluster(Protocol):
    """What a `kubernetes` plugin needs of a cluster."""

    def fills(self, zone: Zone) -> bool:
        """Whether everything there is has been seen once and is in force in this zone."""

    def recalls(self, zone: Zone) -> bool:
        """Whether at least an earlier state of the cluster is in force in this zone."""

    def attach(self, zone: Zone) -> None:
        """Fills the zone and keeps it up to date from now on."""

    def detach(self, zone: Zone) -> None: ...


class WatchedCluster:
    """A cluster behind an API server. `memory` is where its last state is kept, if it is."""

    def __init__(self, config: KubeConfig, memory: Path | None = None) -> None:
        self.client = Client(config, component="dns")
        self.programmed = 0
        """The highest EndpointSlice revision that answers reflect in full."""
        self.on_programmed: Callable[[int], None] = lambda revision: None
        self.on_filled: Callable[[], None] = lambda: None
        self.on_recalled: Callable[[float], None] = lambda written: None
        """Told when an earlier state comes into force, of what time; and 0 when it is in force no more."""
        self._memory = memory
        self._recalled: dict[str, dict[str, Any]] = {}
        self._changed = asyncio.Event()
        self._zones: list[Zone] = []
        self._filled: list[Zone] = []
        self._scheduled = False
        self._pods_wanted = asyncio.Event()
        self._informers: dict[str, Informer[Any]] = {
            "namespaces": Informer(self.client, NAMESPACES, type=Namespace),
            "endpointslices": Informer(self.client, ENDPOINT_SLICES, type=EndpointSlice),
            "services": Informer(self.client, SERVICES, type=Service),
            "pods": Informer(self.client, PODS, type=Pod),
        }
        self._slices = self._informers["endpointslices"]
        for kind, informer in self._informers.items():
            informer.on_change(_told(self._tell, kind))

    async def run(self) -> None:
        """Follows the API server until cancelled."""
        async with self.client, asyncio.TaskGroup() as tasks:
            if self._memory:
                tasks.create_task(self._recall_if_alone())
                tasks.create_task(self._remember())
            for kind in ("services", "endpointslices", "namespaces"):
                tasks.create_task(self._informers[kind].run())
                tasks.create_task(self._flush_when_synced(kind))
            await self._pods_wanted.wait()
            tasks.create_task(self._flush_when_synced("pods"))
            await self._informers["pods"].run()

    async def _flush_when_synced(self, kind: str) -> None:
        # An empty collection changes nothing that would be told; that it has been seen counts all the same.
        informer = self._informers[kind]
        await informer.synced()
        for key, obj in self._recalled.pop(kind, {}).items():
            if informer.get(key) is None:
                self._tell(kind, key, obj, None)
        self._schedule()

    def fills(self, zone: Zone) -> bool:
        return zone in self._filled

    def recalls(self, zone: Zone) -> bool:
        return bool(self._recalled) or zone in self._filled

    def attach(self, zone: Zone) -> None:
        self._zones.append(zone)
        if zone.settings.pods == "verified":
            self._pods_wanted.set()
        for kind, informer in self._informers.items():
            for key, obj in {**self._recalled.get(kind, {}), **informer.items()}.items():
                _change(zone, kind, key, None, obj)
        self._schedule()

    def detach(self, zone: Zone) -> None:
        self._zones.remove(zone)
        self._filled = [other for other in self._filled if other is not zone]

    # ---- what the informers tell -----------------------------------------------------------------------

    def _tell(self, kind: str, key: str, old: Any, new: Any) -> None:
        for zone in self._zones:
            _change(zone, kind, key, old, new)
        self._changed.set()
        if kind != "pods":
            self._schedule()

    def _schedule(self) -> None:
        # A batch of events arrives in one go; working it out right after it does each Service once.
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        # Before all kinds are known, what is worked out would have to be worked out again.
        known = [
            zone for zone in self._zones if zone in self._filled or self._recalled or self._seen_all(zone)
        ]
        unfinished = [zone for zone in known if not zone.flush(_AT_ONCE)]
        if unfinished:
            asyncio.get_running_loop().call_soon(self._flush)
            return
        self._scheduled = False
        self._filled += [zone for zone in self._zones if zone not in self._filled and self._seen_all(zone)]
        if self._slices.has_synced and self._filled:
            self._recalled.clear()
            self.on_recalled(0.0)
            self.programmed = self._slices.resource_version
            self.on_programmed(self.programmed)
            self.on_filled()

    def _seen_all(self, zone: Zone) -> bool:
        wanted = {"services", "endpointslices", "namespaces"}
        if zone.settings.pods == "verified":
            wanted.add("pods")
        return all(self._informers[kind].has_synced for kind in wanted)

    # ---- the last state on disk ------------------------------------------------------------------------

    async def _recall_if_alone(self) -> None:
        """Brings the last state into force where the API server keeps silent, or is not there at all."""
        assert self._memory
        with contextlib.suppress(ClientError, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self.client.request("GET", "/version")
                await self._slices.synced()
                await self._informers["services"].synced()
        missing = {kind: TYPES[kind] for kind in TYPES if not self._informers[kind].has_synced}
        if "services" not in missing and "endpointslices" not in missing:
            return
        found = snapshot.read(self._memory, TYPES)
        if found is None:
            return
        objects, written = found
        self._recalled = {kind: objects[kind] for kind in missing}
        log.warning("no API server: the last state is served", seconds_old=int(time.time() - written))
        self.on_recalled(written)
        for kind, items in self._recalled.items():
            for key, obj in items.items():
                if self._informers[kind].get(key) is None:
                    self._tell(kind, key, None, obj)
        self._changed.clear()

    async def _remember(self) -> None:
        assert self._memory
        try:
            while True:
                await self._changed.wait()
                if self._filled:
                    self._changed.clear()
                    await asyncio.to_thread(snapshot.write, self._memory, self._state(), time.time())
                await asyncio.sleep(_SNAPSHOT_EVERY if self._filled else 0.2)
        finally:
            if self._filled and self._changed.is_set():
                snapshot.write(self._memory, self._state(), time.time())

    def _state(self) -> dict[str, dict[str, Any]]:
        return {kind: dict(informer.items()) for kind, informer in self._informers.items()}


def _told(tell: Callable[[str, str, Any, Any], None], kind: str) -> Callable[[str, Any, Any], None]:
    return lambda key, old, new: tell(kind, key, old, new)


def _change(zone: Zone, kind: str, key: str, old: Any, new: Any) -> None:
    match kind:
        case "services":
            zone.service_changed(key, new)
        case "endpointslices":
            zone.slice_changed(key, new)
        case "namespaces":
            zone.namespace_changed(key, new.metadata if new else None)
        case "pods":
            zone.pod_changed(key, old, new)
