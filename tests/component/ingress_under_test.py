"""A real nginx with our Lua in front of servers that say who they are, told by a table: no API server."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from fairway.api.objects import EndpointSlice
from fairway.ingress.config import Config
from fairway.ingress.control import Control
from fairway.ingress.nginx import Nginx
from tests.unit.ingress.cluster import Cluster, service, slice_of


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def seen(self) -> Any:
        """What the server behind it saw of the request."""
        return json.loads(self.body)

    @property
    def service(self) -> str | int:
        return str(self.seen["service"]) if self.status == 200 else self.status


class Echo:
    """A server that answers with its name and with what it saw."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.port = 0
        self.requests = 0
        self._server: asyncio.Server | None = None

    async def start(self, tls: ssl.SSLContext | None = None) -> Echo:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        assert self._server
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.requests += 1
                first, *lines = head.decode("latin-1").split("\r\n")[:-2]
                headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
                size = int(headers.get("content-length", "0"))
                await reader.readexactly(size)
                if headers.get("upgrade") == "websocket":
                    await self._talk(reader, writer)
                    return
                method, target, _ = first.split(" ", 2)
                seen = {"service": self.name, "method": method, "target": target, "headers": headers}
                body = json.dumps(seen | {"size": size}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """After an upgrade: what comes in goes back."""
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n")
        while data := await reader.read(4096):
            writer.write(data)


@dataclass
class Front:
    """nginx, and the cluster it serves."""

    config: Config
    nginx: Nginx
    control: Control
    cluster: Cluster = field(default_factory=Cluster)
    echoes: dict[str, Echo] = field(default_factory=dict)

    async def serve(self, names: Iterable[str]) -> None:
        """Services of these names, each with a server behind it."""
        for name in names:
            echo = self.echoes[name] = await Echo(name).start()
            self.place(name, echo.port)

    def place(self, name: str, port: int) -> None:
        """A Service with a server on a port of this machine; nginx hears of it with the next `tell`."""
        self.cluster.put(service(name), slice_of(name, ("127.0.0.1", port)))

    async def tell(self, *objects: Any) -> None:
        self.cluster.put(*objects)
        change = self.cluster.table.take()
        self.nginx.write_passwords(self.cluster.table.files)
        if change:
            await self.control.change(change)

    async def get(self, host: str, target: str = "/", tls: bool = False, **headers: str) -> Answer:
        return await ask(self.config, f"GET {target} HTTP/1.1", host, headers, tls=tls)


async def ask(
    config: Config, line: str, host: str, headers: dict[str, str], body: bytes = b"", tls: bool = False
) -> Answer:
    context = None
    if tls:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    port = config.https_port if tls else config.http_port
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname=host if tls else None
    )
    lines = [line, f"Host: {host}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
    answer = await asyncio.wait_for(reader.read(), 30)
    writer.close()
    head, _, rest = answer.partition(b"\r\n\r\n")
    first, *others = head.decode("latin-1").split("\r\n")
    pairs = [(name.lower(), value.strip()) for name, _, value in (o.partition(":") for o in others)]
    found = {name: ", ".join(v for n, v in pairs if n == name) for name, _ in pairs}
    if found.get("transfer-encoding") == "chunked":
        rest = _dechunked(rest)
    return Answer(int(first.split()[1]), found, rest)


def several(name: str, ports: list[int]) -> list[EndpointSlice]:
    """One slice for each port, as all endpoints of a slice have the same; the rest of three are emptied."""
    made = []
    for number in range(3):
        one = slice_of(name, *([("127.0.0.1", ports[number])] if number < len(ports) else []))
        meta = msgspec.structs.replace(one.metadata, name=f"{name}-{'abc'[number]}")
        made.append(msgspec.structs.replace(one, metadata=meta))
    return made


def _dechunked(data: bytes) -> bytes:
    out = b""
    while data:
        size, _, rest = data.partition(b"\r\n")
        out, data = out + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return out


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@asynccontextmanager
async def front(folder: Path, workers: int = 2) -> AsyncIterator[Front]:
    config = Config(
        data=folder,
        bind=("127.0.0.1",),
        http_port=free_port(),
        https_port=free_port(),
        workers=workers,
    )
    nginx = Nginx(config)
    nginx.prepare()
    await nginx.start()
    control = Control(nginx.settings.socket)
    made = Front(config, nginx, control)
    try:
        yield made
    finally:
        for echo in made.echoes.values():
            await echo.stop()
        await control.close()
        await nginx.stop()
