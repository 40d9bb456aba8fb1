"""Plain requests over HTTP/1.1: connections that are kept, one exchange on each at a time.

A request's parts go in; status and body of its answer come out, read whole. Thousands of small objects are
written this way, each for a part of what a general HTTP client takes. Watches, WebSockets and proxies are
not for here, nor is what an answer means.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import quote, urlsplit

import httptools

KEEP_SECONDS = 30.0
# What may be sent again when a kept connection turns out to be dead: doing it twice is as doing it once.
_REPEATABLE = frozenset(("GET", "PUT", "DELETE"))
_UNQUOTED = "/:@!$&'()*+,;=~-._%"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    retry_after: str | None = None


@dataclass(slots=True)
class _Reading:
    """What has come of an answer."""

    body: list[bytes] = field(default_factory=list)
    retry_after: str | None = None
    has_length: bool = False
    has_head: bool = False
    is_last: bool = False


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiting: asyncio.Future[Answer] | None = None
        self._reading = _Reading()
        self._expiry: asyncio.TimerHandle | None = None
        self.heard = False  # anything, of the latest exchange

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    async def exchange(self, request: bytes) -> Answer:
        """Raises OSError if no whole answer comes. Whatever ends it early ends the connection."""
        if self._transport is None:
            raise ConnectionResetError("the server closed the connection")
        self._waiting, self.heard = asyncio.get_running_loop().create_future(), False
        self._transport.write(request)
        try:
            return await self._waiting
        except BaseException:
            self.close()
            raise
        finally:
            self._waiting = None

    def rest(self) -> None:
        """Unused for long, it closes."""
        self._expiry = asyncio.get_running_loop().call_later(KEEP_SECONDS, self.close)

    def wake(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def close(self) -> None:
        """Without farewell: nothing is on its way that anybody waits for."""
        self.wake()
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()

    # ---- called by the event loop ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.heard = True
        if self._waiting is None or self._waiting.done():
            self.close()  # nobody asked for this
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ConnectionError(f"not an HTTP answer: {error}"))

    def connection_lost(self, error: Exception | None) -> None:
        self.close()
        if error is None and self._reading.has_head and not self._reading.has_length:
            self.on_message_complete()  # its end is the end of the answer
        self._fail(error or ConnectionResetError("the server closed the connection"))

    # ---- called by the parser ----

    def on_message_begin(self) -> None:
        self._reading = _Reading()

    def on_header(self, name: bytes, value: bytes) -> None:
        match name.lower():
            case b"content-length" | b"transfer-encoding":
                self._reading.has_length = True
            case b"retry-after":
                self._reading.retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._reading.has_head = True
        self._reading.is_last = not self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        self._reading.body.append(body)

    def on_message_complete(self) -> None:
        reading, status = self._reading, self._parser.get_status_code()
        self._reading = _Reading()
        if status < 200:
            return  # "continue" and the like: the answer is still to come
        if reading.is_last:
            self.close()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(Answer(status, b"".join(reading.body), reading.retry_after))

    def _fail(self, error: Exception) -> None:
        self.close()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)


class Connections:
    """All connections to one server, as many as there are exchanges at once; the last used is used first."""

    def __init__(self, server: str, tls: ssl.SSLContext | None, server_name: str | None) -> None:
        where = urlsplit(server)
        self._host = where.hostname or ""
        self._port = where.port or (443 if tls else 80)
        self._authority = where.netloc.rpartition("@")[2]
        self._prefix = where.path
        self._tls = tls
        self._server_name = server_name if tls else None
        self._open: set[Connection] = set()
        self._resting: list[Connection] = []

    async def exchange(
        self, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes | None = None
    ) -> Answer:
        request = _message(method, self._prefix + target, [("Host", self._authority), *headers], body)
        while (kept := self._kept()) is not None:
            try:
                return await self._over(kept, request)
            except OSError:
                if kept.heard or method not in _REPEATABLE:
                    raise
        return await self._over(await self._connect(), request)

    def close(self) -> None:
        for connection in [*self._open]:
            connection.close()
        self._open.clear()
        self._resting.clear()

    def _kept(self) -> Connection | None:
        while self._resting:
            connection = self._resting.pop()
            connection.wake()
            if connection.is_open:
                return connection
            self._open.discard(connection)
        return None

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            Connection, self._host, self._port, ssl=self._tls, server_hostname=self._server_name
        )
        self._open.add(connection)
        return connection

    async def _over(self, connection: Connection, request: bytes) -> Answer:
        try:
            return await connection.exchange(request)
        finally:
            if connection.is_open and connection in self._open:
                connection.rest()
                self._resting.append(connection)
            else:
                connection.close()
                self._open.discard(connection)


def _message(method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes | None) -> bytes:
    lines = [f"{method} {quote(target, safe=_UNQUOTED + '?')} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    if any("\n" in line or "\r" in line for line in lines):
        raise ConnectionError("a header with a line break in it is not sent")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")
