"""Port forwarding: connections of a client, each to a port inside a Pod.

SPDY/3.1 carries them, alone (kubectl before 1.31) or inside a WebSocket's messages (since then): for each
connection the client opens a stream for errors and one for data, with the port and a number in their headers.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

import structlog

from fairway.httpserver import Request, Tunnel, Upgrade
from fairway.kernel import namespaces
from fairway.nodeagent.server import handshake, spdy
from fairway.nodeagent.server.port_channels import PortChannels, requested_ports
from fairway.nodeagent.server.websocket import WebSocket

log = structlog.get_logger()
PLAIN = "portforward.k8s.io"
TUNNELED = ("SPDY/3.1+v2.portforward.k8s.io", "SPDY/3.1+portforward.k8s.io")
CHANNELS = "v4.channel.k8s.io"
_CONNECT_SECONDS = 5.0
_CHUNK = 32 * 1024
# Pieces of data a connection may have waiting for the Pod before its client has to wait, too.
_WAITING = 64

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[int], Awaitable[Connection]]


async def connect_inside(namespace: str, port: int) -> Connection:
    """To the Pod's own loopback, where what listens on its address listens, too; IPv6 if IPv4 is refused."""

    def connected() -> socket.socket:
        try:
            return socket.create_connection(("127.0.0.1", port), _CONNECT_SECONDS)
        except ConnectionRefusedError as refused:
            try:
                return socket.create_connection(("::1", port), _CONNECT_SECONDS)
            except OSError:
                raise refused from None

    if namespace:
        opened = await asyncio.to_thread(namespaces.run_inside, Path(namespace), connected)
    else:
        opened = await asyncio.to_thread(connected)
    return await asyncio.open_connection(sock=opened, limit=_CHUNK)


def upgrade(request: Request, pod: str, connect: Connect) -> Upgrade:
    if handshake.is_spdy(request):
        protocol = handshake.choose(request, (PLAIN,))
        return handshake.spdy_upgrade(protocol, lambda tunnel: PortForwards(tunnel, pod, connect).run())
    protocol = handshake.choose(request, (*TUNNELED, CHANNELS))
    if protocol == CHANNELS:
        ports = requested_ports(request)
        return handshake.websocket_upgrade(
            request, protocol, lambda tunnel: PortChannels(tunnel, ports, connect).run()
        )
    return handshake.websocket_upgrade(
        request, protocol, lambda tunnel: PortForwards(WebSocketBytes(tunnel), pod, connect).run()
    )


class Bytes(Protocol):
    async def read(self) -> bytes: ...

    async def write(self, data: bytes) -> None: ...


class WebSocketBytes:
    """A stream of bytes inside a WebSocket's messages, whose borders mean nothing."""

    def __init__(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel
        self._socket = WebSocket()

    async def read(self) -> bytes:
        while not self._socket.ended:
            messages = self._socket.receive(await self._tunnel.read())
            for reply in self._socket.replies:
                await self._tunnel.write(reply)
            self._socket.replies.clear()
            if data := b"".join(messages):
                return data
        return b""

    async def write(self, data: bytes) -> None:
        await self._tunnel.write(self._socket.message(data))


class _Forward:
    """One connection: its two streams, and what is on the way to the Pod (None is the end)."""

    def __init__(self) -> None:
        self.error = 0
        self.data = 0
        self.port = 0
        self.incoming: asyncio.Queue[bytes | None] = asyncio.Queue(_WAITING)
        self.task: asyncio.Task[None] | None = None
        self.over = False

    def finish(self) -> None:
        """Nobody takes data to the Pod any more: whoever waits to hand in more must not wait for ever."""
        self.over = True
        while not self.incoming.empty():
            self.incoming.get_nowait()


class PortForwards:
    """All connections that one client forwards to one Pod."""

    def __init__(self, stream: Bytes, pod: str, connect: Connect) -> None:
        self._stream = stream
        self._pod = pod
        self._connect = connect
        self._spdy = spdy.SpdyConnection()
        self._by_request: dict[str, _Forward] = {}
        self._by_data: dict[int, _Forward] = {}

    async def run(self) -> None:
        """Until the client leaves."""
        try:
            while data := await self._stream.read():
                for event in self._spdy.receive(data):
                    await self._handle(event)
                for reply in self._spdy.replies:
                    await self._stream.write(reply)
                self._spdy.replies.clear()
        except spdy.SpdyError as error:
            log.warning("port forwarding broke off", pod=self._pod, error=str(error))
        finally:
            tasks = [forward.task for forward in self._by_data.values() if forward.task]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _handle(self, event: spdy.Event) -> None:
        match event:
            case spdy.Opened():
                await self._opened(event)
            case spdy.Data(stream, data, ended):
                forward = self._by_data.get(stream)
                for piece in ((data,) if data else ()) + ((None,) if ended else ()):
                    if forward and not forward.over:
                        await forward.incoming.put(piece)
            case spdy.Reset(stream):
                forward = self._by_data.get(stream)
                if forward and forward.task:
                    forward.task.cancel()

    async def _opened(self, event: spdy.Opened) -> None:
        kind, port = event.headers.get("streamtype", ""), event.headers.get("port", "")
        request = event.headers.get("requestid", "")
        if kind not in ("error", "data") or not port.isdecimal() or not 0 < int(port) < 65536:
            await self._stream.write(self._spdy.reset(event.stream, spdy.REFUSED_STREAM))
            return
        await self._stream.write(self._spdy.reply(event.stream))
        forward = self._by_request.setdefault(request, _Forward())
        if kind == "error":
            forward.error = event.stream
        else:
            forward.data, forward.port = event.stream, int(port)
            self._by_data[event.stream] = forward
        if forward.error and forward.data:
            del self._by_request[request]
            forward.task = asyncio.create_task(self._carry(forward))

    async def _carry(self, forward: _Forward) -> None:
        try:
            complaint = await self._talked(forward)
            await self._stream.write(self._spdy.data(forward.data, b"", ended=True))
            await self._stream.write(self._spdy.data(forward.error, complaint, ended=True))
        except ConnectionError:
            pass
        finally:
            forward.finish()
            del self._by_data[forward.data]

    async def _talked(self, forward: _Forward) -> bytes:
        """What the client is to be told went wrong; nothing if the connection came about."""
        try:
            reader, writer = await self._connect(forward.port)
        except OSError as error:
            return f"error forwarding port {forward.port} to pod {self._pod}: {error}".encode()
        await self._copy(forward, reader, writer)
        return b""

    async def _copy(
        self, forward: _Forward, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Until the Pod has said everything; the client may end its side before."""
        feeding = asyncio.create_task(_feed(forward.incoming, writer))
        try:
            while data := await reader.read(_CHUNK):
                await self._stream.write(self._spdy.data(forward.data, data))
        except OSError:
            pass
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
            writer.close()


async def _feed(incoming: asyncio.Queue[bytes | None], writer: asyncio.StreamWriter) -> None:
    try:
        while (data := await incoming.get()) is not None:
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        # The Pod takes no more. What it says is still read; what comes for it is thrown away.
        while await incoming.get() is not None:
            pass
