"""A TCP proxy on loopback whose connections a test can cut: what a network does to watches."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class DroppingProxy:
    def __init__(self, port: int) -> None:
        self._port = port
        self._pairs: set[asyncio.StreamWriter] = set()
        self.address = ""

    def drop(self) -> None:
        """Cuts everything that is open; new connections are let through again."""
        for writer in list(self._pairs):
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        beyond, towards = await asyncio.open_connection("127.0.0.1", self._port)
        self._pairs |= {writer, towards}
        await asyncio.gather(_pass_on(reader, towards), _pass_on(beyond, writer))
        self._pairs -= {writer, towards}


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    target.transport.abort()


@contextlib.asynccontextmanager
async def dropping_proxy(port: int) -> AsyncIterator[DroppingProxy]:
    proxy = DroppingProxy(port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        proxy.drop()
        await asyncio.sleep(0)
