"""Endpoints that no node runs but ours looks after: probed like containers, gone when their Lease lapses."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import msgspec
import structlog

from fairway.api.objects import EndpointSlice
from fairway.api.registration import PROBE, REGISTERED, lapsed
from fairway.api.resources import ENDPOINT_SLICES, LEASES
from fairway.client import ApiError, Client, Informer, NotFound
from fairway.nodeagent.objects import Container, Probe
from fairway.nodeagent.probes.runner import ProbeRunner
from fairway.nodeagent.runtime.runc import Completed

log = structlog.get_logger()
_LEASE_PAUSE = 1.0


class Registrations:
    def __init__(self, client: Client, node_name: str) -> None:
        self._client = client
        self._node_name = node_name
        self._slices = Informer(
            client, ENDPOINT_SLICES, type=EndpointSlice, label_selector=f"{REGISTERED}=true"
        )
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        self._slices.on_change(self._changed)
        try:
            await self._slices.run()
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _changed(self, key: str, old: EndpointSlice | None, new: EndpointSlice | None) -> None:
        """A change of readiness is our own doing; anything else means to begin anew."""
        mine = new is not None and _node(new) == self._node_name
        if mine and old is not None and key in self._tasks and _essence(old) == _essence(new):
            return
        if task := self._tasks.pop(key, None):
            task.cancel()
        if new is not None and mine:
            self._tasks[key] = asyncio.create_task(self._look_after(new))

    async def _look_after(self, registered: EndpointSlice) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._until_lapsed(registered))
            probe = (registered.metadata.annotations or {}).get(PROBE)
            if probe:
                group.create_task(self._probe(registered, probe))

    async def _until_lapsed(self, registered: EndpointSlice) -> None:
        """Without an API server nothing lapses: nobody could have renewed anything."""
        meta = registered.metadata
        while True:
            try:
                lease = await self._client.get(LEASES, meta.name, namespace=meta.namespace)
                over = lapsed(lease.get("spec") or {}, datetime.now(UTC))
            except NotFound:
                over = True
            except ApiError:
                over = False
            if over and await self._removed(registered):
                return
            await asyncio.sleep(_LEASE_PAUSE)

    async def _removed(self, registered: EndpointSlice) -> bool:
        meta = registered.metadata
        try:
            await self._client.delete(ENDPOINT_SLICES, meta.name, namespace=meta.namespace, uid=meta.uid)
            await self._client.delete(LEASES, meta.name, namespace=meta.namespace)
        except NotFound:
            pass
        except ApiError as error:
            log.warning("registration not removed", registration=meta.key, error=str(error))
            return False
        log.info("registration lapsed", registration=meta.key)
        return True

    async def _probe(self, registered: EndpointSlice, text: str) -> None:
        try:
            probe = msgspec.json.decode(text, type=Probe)
        except msgspec.MsgspecError as error:
            log.error("registration with a bad probe", registration=registered.metadata.key, error=str(error))
            return
        changed = asyncio.Event()
        container = Container(name=registered.metadata.name, readiness_probe=probe)
        address = (registered.endpoints or [])[0].addresses[0]
        runner = ProbeRunner(container, address, time.time(), _no_commands, changed.set)
        async with asyncio.TaskGroup() as group:
            group.create_task(runner.run())
            while True:
                await changed.wait()
                changed.clear()
                await self._report(registered, runner.health.ready)

    async def _report(self, registered: EndpointSlice, ready: bool) -> None:
        meta = registered.metadata
        patch = [
            {"op": "add", "path": "/endpoints/0/conditions", "value": {"ready": ready, "serving": ready}}
        ]
        try:
            await self._client.patch(ENDPOINT_SLICES, meta.name, patch, namespace=meta.namespace, kind="json")
        except ApiError as error:
            log.warning("registration not reported", registration=meta.key, error=str(error))


def _node(registered: EndpointSlice) -> str:
    endpoints = registered.endpoints or []
    return (endpoints[0].node_name or "") if endpoints else ""


def _essence(registered: EndpointSlice | None) -> tuple[object, ...]:
    """All but whether it is ready."""
    if registered is None:
        return ()
    addresses = [endpoint.addresses for endpoint in registered.endpoints or ()]
    probe = (registered.metadata.annotations or {}).get(PROBE)
    return (registered.metadata.uid, _node(registered), addresses, probe)


async def _no_commands(words: object) -> Completed:
    """There is no container to run one in."""
    return Completed(1, b"", b"a registered endpoint can't be probed by a command")
