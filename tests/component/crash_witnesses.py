"""Clients that remember what they were told: a writer its acknowledgements, a watcher the events it saw.

Both live through crashes of the server. What a request that got no answer did is found out afterwards:
either all of it happened or nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from typing import Any, NamedTuple

import aiohttp

from tests.component.clients import MERGE, Answer, Clients, Obj, service

SERVICES = "/api/v1/namespaces/default/services"
BROKEN = (aiohttp.ClientError, ConnectionError, TimeoutError)


async def when_back(clients: Clients, path: str, **params: str) -> Answer:
    """The answer to a GET, as soon as there is a server to give it."""
    while True:
        with contextlib.suppress(*BROKEN):
            return await clients.send("GET", path, **params)
        await asyncio.sleep(0.02)


class Writer:
    """Creates, changes and deletes Services of its own; `known` is what it may rely on."""

    def __init__(self, clients: Clients, name: str, chance: random.Random) -> None:
        self.known: dict[str, str] = {}
        self.acknowledged = 0
        self._clients = clients
        self._name = name
        self._chance = chance
        self._count = 0
        self._stopping = False

    def stop(self) -> None:
        self._stopping = True

    async def run(self) -> None:
        while not self._stopping:
            self._count += 1
            kept = list(self.known)
            if not kept or (len(kept) < 3 and self._chance.random() < 0.5):
                await self._create()
            elif self._chance.random() < 0.3:
                await self._delete(self._chance.choice(kept))
            else:
                await self._change(self._chance.choice(kept))

    async def _create(self) -> None:
        name, state = f"{self._name}-{self._count}", str(self._count)
        kind = self._chance.choice(["ClusterIP", "NodePort"])
        obj = service(name, annotations={"state": state}, type=kind)
        await self._attempt("POST", SERVICES, name, state, obj)

    async def _change(self, name: str) -> None:
        """Between types, so that addresses and ports are taken and freed."""
        state = str(self._count)
        spec = self._chance.choice(
            [
                {"type": "ClusterIP", "externalName": None},
                {"type": "NodePort", "externalName": None},
                {
                    "type": "ExternalName",
                    "externalName": "example.com",
                    "clusterIP": None,
                    "clusterIPs": None,
                },
            ]
        )
        patch = {"metadata": {"annotations": {"state": state}}, "spec": spec}
        await self._attempt("PATCH", f"{SERVICES}/{name}", name, state, patch, MERGE)

    async def _delete(self, name: str) -> None:
        await self._attempt("DELETE", f"{SERVICES}/{name}", name, None)

    async def _attempt(
        self, method: str, path: str, name: str, state: str | None, body: Any = None, media: str = ""
    ) -> None:
        try:
            answer = await self._clients.send(method, path, body, media or "application/json")
        except BROKEN:
            await self._find_out(name, state)
            return
        if answer.status == 503:  # "not now": nothing may have happened
            state = self.known.get(name)
            await self._find_out(name, state)
            return
        assert answer.status in (200, 201), f"{method} {path}: {answer.status} {answer.message}"
        self.acknowledged += 1
        self._note(name, state)

    async def _find_out(self, name: str, wanted: str | None) -> None:
        answer = await when_back(self._clients, f"{SERVICES}/{name}")
        state = None if answer.status == 404 else answer.body["metadata"]["annotations"]["state"]
        assert state in (self.known.get(name), wanted)
        self._note(name, state)

    def _note(self, name: str, state: str | None) -> None:
        if state is None:
            self.known.pop(name, None)
        else:
            self.known[name] = state


class Seen(NamedTuple):
    version: int
    type: str
    name: str


class Watcher:
    """Follows all Services from a version on, and goes on from the last version it saw."""

    def __init__(self, clients: Clients) -> None:
        self.seen: list[Seen] = []
        self._clients = clients
        self._start = ""
        self._moved = asyncio.Event()

    async def begin(self) -> None:
        listed = await when_back(self._clients, "/api/v1/services")
        self._start = listed.body["metadata"]["resourceVersion"]

    async def run(self) -> None:
        while True:
            version = str(self.seen[-1].version) if self.seen else self._start
            with contextlib.suppress(*BROKEN):
                await self._follow(version)
            await asyncio.sleep(0.02)

    async def _follow(self, version: str) -> None:
        params = {"watch": "1", "resourceVersion": version}
        async with self._clients.session.get("/api/v1/services", params=params) as response:
            assert response.status == 200, await response.text()
            async for line in response.content:
                if line.endswith(b"\n"):  # a line cut short by a crash was never said
                    self.seen.append(read_event(line))
                    self._moved.set()

    async def caught_up(self) -> None:
        """Wait until it has seen the newest of what there is to see."""
        newest = (await self.history())[-1]
        async with asyncio.timeout(20):
            while not self.seen or self.seen[-1].version < newest.version:
                self._moved.clear()
                await self._moved.wait()

    async def history(self) -> list[Seen]:
        """All that happened since the beginning, as one who never lost the connection is told it."""
        params = {"watch": "1", "resourceVersion": self._start, "timeoutSeconds": "1"}
        async with self._clients.session.get("/api/v1/services", params=params) as response:
            return [read_event(line) for line in (await response.read()).splitlines()]


def read_event(line: bytes) -> Seen:
    event: Obj = json.loads(line)
    metadata = event["object"]["metadata"]
    return Seen(int(metadata["resourceVersion"]), event["type"], metadata["name"])
