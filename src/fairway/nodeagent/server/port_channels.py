"""Port forwarding by channels over a WebSocket, as client libraries (not kubectl) do it.

The ports are in the query; the i-th has channel 2i for data and 2i+1 for errors, one connection each. The
first message on every channel is the port's number.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Sequence

from fairway.api.errors import bad_request
from fairway.httpserver import Request, Tunnel
from fairway.nodeagent.server.websocket import WebSocket

_CHUNK = 32 * 1024
Connect = Callable[[int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


def requested_ports(request: Request) -> list[int]:
    texts = [part for name, value in request.query_pairs() if name == "ports" for part in value.split(",")]
    ports = [int(text) for text in texts if text.isdecimal() and 0 < int(text) < 65536]
    if not ports or len(ports) != len(texts) or len(ports) > 100:
        raise bad_request('query parameter "ports" must list the ports to forward')
    return ports


class PortChannels:
    def __init__(self, tunnel: Tunnel, ports: Sequence[int], connect: Connect) -> None:
        self._tunnel = tunnel
        self._ports = ports
        self._connect = connect
        self._socket = WebSocket()
        self._writers: dict[int, asyncio.StreamWriter] = {}

    async def run(self) -> None:
        """Until the client leaves. A port that can't be reached says so on its error channel."""
        tasks = []
        try:
            for index, port in enumerate(self._ports):
                for channel in (2 * index, 2 * index + 1):
                    await self._send(channel, struct.pack("<H", port))
                tasks += await self._open(2 * index, port)
            await self._listen()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for writer in self._writers.values():
                writer.close()

    async def _open(self, channel: int, port: int) -> list[asyncio.Task[None]]:
        try:
            reader, self._writers[channel] = await self._connect(port)
        except OSError as error:
            await self._send(channel + 1, f"error forwarding port {port}: {error}".encode())
            return []
        return [asyncio.create_task(self._copy(channel, reader))]

    async def _copy(self, channel: int, reader: asyncio.StreamReader) -> None:
        try:
            while data := await reader.read(_CHUNK):
                await self._send(channel, data)
        except OSError:
            pass

    async def _listen(self) -> None:
        while not self._socket.ended:
            for message in self._socket.receive(await self._tunnel.read()):
                await self._feed(message)
            for reply in self._socket.replies:
                await self._tunnel.write(reply)
            self._socket.replies.clear()

    async def _feed(self, message: bytes) -> None:
        writer = self._writers.get(message[0]) if message else None
        if writer:
            try:
                writer.write(message[1:])
                await writer.drain()
            except OSError:
                del self._writers[message[0]]

    async def _send(self, channel: int, data: bytes) -> None:
        await self._tunnel.write(self._socket.message(bytes([channel]) + data))
