"""A connection after an upgrade: bytes in, bytes out, with back-pressure both ways."""

from __future__ import annotations

import asyncio

HIGH_WATER = 256 * 1024


class Tunnel:
    """What an upgraded connection's owner reads from and writes to."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._received = bytearray()
        self._ended = False
        self._readable = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    async def read(self) -> bytes:
        """The next bytes, or b"" once the other side has closed."""
        while not self._received and not self._ended:
            self._readable.clear()
            await self._readable.wait()
        data = bytes(self._received)
        self._received.clear()
        if not self._ended:
            self._transport.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        await self._writable.wait()
        if self._transport.is_closing():
            raise ConnectionResetError("the connection is closed")
        self._transport.write(data)

    def close(self) -> None:
        self._transport.close()

    # -- called by the protocol -----------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > HIGH_WATER:
            self._transport.pause_reading()
        self._readable.set()

    def end(self) -> None:
        self._ended = True
        self._readable.set()
        self._writable.set()

    def pause(self) -> None:
        self._writable.clear()

    def resume(self) -> None:
        self._writable.set()
