"""Our own informer over the real server: many objects by watch-list, going on when the server restarts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairway.api.resources import CONFIG_MAPS
from fairway.client import Client, Informer, KubeConfig
from tests.conformance.server import ApiServer, api_server

MANY = 2000


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    resource_version: str = ""


class ConfigMap(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] = {}


class Listening(Client):
    """Notes what it asks the server for."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(KubeConfig.load(server.kubeconfig))
        self.lists = 0
        self.watches: list[dict[str, str]] = []

    async def list(self, *arguments: Any, **options: Any) -> Any:
        self.lists += 1
        return await super().list(*arguments, **options)

    def stream(self, path: str, *, params: dict[str, str], **options: Any) -> Any:
        self.watches.append(params)
        return super().stream(path, params=params, **options)


class Following:
    """An informer of all ConfigMaps, and every change it told of."""

    def __init__(self, client: Listening) -> None:
        self.informer = Informer(client, CONFIG_MAPS, type=ConfigMap, namespace="default")
        self.told: list[tuple[str, str | None]] = []
        self._changed = asyncio.Event()
        self.informer.on_change(self._note)

    def _note(self, key: str, old: ConfigMap | None, new: ConfigMap | None) -> None:
        self.told.append((key, new.metadata.resource_version if new else None))
        self._changed.set()

    def state(self) -> dict[str, str]:
        return {key: obj.metadata.resource_version for key, obj in self.informer.items().items()}

    async def until(self, wanted: dict[str, str]) -> None:
        async with asyncio.timeout(30):
            while self.state() != wanted:
                self._changed.clear()
                await self._changed.wait()


@contextlib.asynccontextmanager
async def following(client: Listening) -> AsyncIterator[Following]:
    follower = Following(client)
    task = asyncio.create_task(follower.informer.run())
    try:
        await asyncio.wait_for(follower.informer.synced(), 30)
        yield follower
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def create(client: Client, *names: str) -> None:
    queue = list(names)

    async def work() -> None:
        while queue:
            await client.create(CONFIG_MAPS, {"metadata": {"name": queue.pop()}}, namespace="default")

    await asyncio.gather(*(work() for _ in range(16)))


async def truth(server: ApiServer) -> dict[str, str]:
    """What a plain list says."""
    async with Client(KubeConfig.load(server.kubeconfig)) as client:
        listing = await client.list(CONFIG_MAPS, namespace="default", type=ConfigMap)
        return {f"default/{item.metadata.name}": item.metadata.resource_version for item in listing.items}


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_an_informer_goes_on_where_it_was_after_the_server_was_restarted(
    tmp_path: Path, end: str
) -> None:
    with api_server(tmp_path) as server:
        async with Listening(server) as client, Client(KubeConfig.load(server.kubeconfig)) as writer:
            await create(writer, *(f"cm-{number:04}" for number in range(MANY)))
            async with following(client) as follower:
                assert follower.state() == await truth(server)
                assert len(follower.told) == MANY
                await asyncio.to_thread(getattr(server, end))
                await asyncio.to_thread(server.start)
                await create(writer, "new")
                await writer.patch(CONFIG_MAPS, "cm-0001", {"data": {"a": "b"}}, namespace="default")
                await writer.delete(CONFIG_MAPS, "cm-0002", namespace="default")
                wanted = await truth(server)
                await follower.until(wanted)
                changes = follower.told[MANY:]
    assert changes == [
        ("default/new", wanted["default/new"]),
        ("default/cm-0001", wanted["default/cm-0001"]),
        ("default/cm-0002", None),
    ]
    assert client.lists == 0
    assert "sendInitialEvents" in client.watches[0]
    assert all("sendInitialEvents" not in params for params in client.watches[1:])
