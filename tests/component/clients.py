"""Many clients of one API server at once, each on a connection of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.conformance.server import TOKEN, ApiServer

Obj = dict[str, Any]
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Obj

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))


class Clients:
    """Requests beyond the number of connections wait for one to become free."""

    def __init__(self, api_server: ApiServer, session: aiohttp.ClientSession) -> None:
        self.api_server = api_server
        self.session = session

    async def send(
        self, method: str, path: str, body: Any = None, media: str = "application/json", **params: str
    ) -> Answer:
        headers = {"Content-Type": media}
        async with self.session.request(method, path, json=body, headers=headers, params=params) as response:
            return Answer(response.status, await response.json())

    async def create(self, collection: str, obj: Obj) -> Answer:
        return await self.send("POST", collection, obj)

    async def items(self, collection: str) -> list[Obj]:
        listed = (await self.send("GET", collection)).body["items"]
        assert isinstance(listed, list)
        return listed


@contextlib.asynccontextmanager
async def connected(server: ApiServer, connections: int) -> AsyncIterator[Clients]:
    """With all connections open already, so that what is sent together arrives together."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    connector = aiohttp.TCPConnector(ssl=server.tls(), limit=connections)
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(
        server.url, headers=headers, connector=connector, timeout=timeout
    ) as session:
        clients = Clients(server, session)
        await at_once([clients.send("GET", "/api/v1/namespaces/default") for _ in range(connections)])
        yield clients


async def at_once(calls: Sequence[Awaitable[Answer]]) -> list[Answer]:
    return await asyncio.gather(*calls)


def statuses(answers: Sequence[Answer]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


def service(name: str, *, annotations: dict[str, str] | None = None, node_port: int = 0, **spec: Any) -> Obj:
    port = {"port": 80, "protocol": "TCP"} | ({"nodePort": node_port} if node_port else {})
    metadata: Obj = {"name": name} | ({"annotations": annotations} if annotations else {})
    whole = {"ports": [port], "selector": {"app": name}, **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": whole}
