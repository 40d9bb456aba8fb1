"""Connections to one upstream server, over TCP or TLS: kept for a while and used again, a question at a time.

A connection that the server has closed meanwhile shows when it is used; then a fresh one is tried.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

from fairway.dns import wire
from fairway.dns.layout import WireError
from fairway.dns.wire import Query, Reply


@dataclass(frozen=True)
class Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    last_used: float


class Connections:
    def __init__(
        self, host: str, port: int, tls: ssl.SSLContext | None, name: str, expire: float, most_idle: int
    ) -> None:
        self._where = (host, port)
        self._tls, self._name = tls, name
        self._expire = expire
        self._most_idle = most_idle
        self._idle: list[Connection] = []
        self.opened = 0

    async def ask(self, query: Query) -> Reply | None:
        """The answer, or None if the server speaks of something else. Raises OSError, EOFError, WireError."""
        while (kept := self._take()) is not None:
            try:
                return await self._exchange(kept, query)
            except (OSError, EOFError):
                continue
        return await self._exchange(await self._open(), query)

    def _take(self) -> Connection | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            kept = self._idle.pop()
            if now - kept.last_used < self._expire and not kept.writer.is_closing():
                return kept
            kept.writer.close()
        return None

    async def _open(self) -> Connection:
        name = self._name if self._tls else None
        reader, writer = await asyncio.open_connection(*self._where, ssl=self._tls, server_hostname=name)
        self.opened += 1
        return Connection(reader, writer, 0.0)

    async def _exchange(self, connection: Connection, query: Query) -> Reply | None:
        reader, writer = connection.reader, connection.writer
        try:
            message = wire.write_query(query)
            writer.write(len(message).to_bytes(2, "big") + message)
            size = int.from_bytes(await reader.readexactly(2), "big")
            reply = wire.read_reply(await reader.readexactly(size), query)
        except BaseException:
            writer.close()
            raise
        if reply is None:
            # Whatever this was an answer to: what comes next can't be told from it.
            writer.close()
        else:
            self._keep(reader, writer)
        return reply

    def _keep(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._most_idle and len(self._idle) >= self._most_idle:
            writer.close()
        else:
            self._idle.append(Connection(reader, writer, asyncio.get_running_loop().time()))

    def close(self) -> None:
        for connection in self._idle:
            connection.writer.close()
        self._idle.clear()


ERRORS = (OSError, EOFError, TimeoutError, WireError)
