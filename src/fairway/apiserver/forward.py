"""An HTTP request passed on to another server, and its answer passed back: whole, streamed or upgraded.

What is said is not understood here; bytes go through. Who may be called, and how errors are worded, is the
callers' business.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import httptools

from fairway.httpserver import Response, Stream, Tunnel, Upgrade
from fairway.httpserver.messages import Answer, Headers

CHUNK = 64 * 1024
CONNECT_SECONDS = 5.0
# Between two parties only; the credentials are ours to check and nobody else's to see.
HOP_BY_HOP = frozenset(("connection", "transfer-encoding", "keep-alive", "content-length", "date"))
NOT_PASSED_ON = frozenset(("host", "authorization", "content-length", "accept-encoding", "expect"))


@dataclass(frozen=True, slots=True)
class Backend:
    """Where a request goes."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(slots=True)
class _Head:
    """What httptools tells of a response's head; the body is collected as it comes."""

    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    complete: bool = False
    ended: bool = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        self.complete = True

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.ended = True

    def header(self, name: str) -> str:
        return next((value for known, value in self.headers if known.lower() == name), "")

    def passed_on(self) -> Headers:
        hidden = HOP_BY_HOP | {"content-type"}
        return tuple((name, value) for name, value in self.headers if name.lower() not in hidden)

    def upgrade_headers(self) -> Headers:
        return tuple((name, value) for name, value in self.headers if name.lower() != "date")


async def forward(
    backend: Backend, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
) -> Answer:
    """Raises OSError, TimeoutError or EOFError if the other side can't be reached or breaks off."""
    reader, writer = await asyncio.wait_for(
        asyncio.open_connection(backend.host, backend.port, ssl=backend.tls, limit=CHUNK), CONNECT_SECONDS
    )
    writer.write(_request_head(backend, method, target, headers, body) + body)
    head = _Head()
    parser = httptools.HttpResponseParser(head)
    try:
        rest = await _read_head(reader, parser, head, method)
    except (OSError, EOFError, httptools.HttpParserError):
        writer.close()
        raise
    if head.status == 101:
        return Upgrade(lambda tunnel: _pump(tunnel, reader, writer, rest), head.upgrade_headers())
    content_type = head.header("content-type")
    if head.ended:
        writer.close()
        return Response(head.status, bytes(head.body), content_type, head.passed_on())
    return Stream(_body(reader, writer, parser, head), head.status, content_type, head.passed_on())


def _request_head(
    backend: Backend, method: str, target: str, headers: Mapping[str, str], body: bytes
) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {headers.get('x-forwarded-host') or backend}"]
    lines += [f"{name}: {value}" for name, value in headers.items() if name not in NOT_PASSED_ON]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


async def _read_head(
    reader: asyncio.StreamReader, parser: httptools.HttpResponseParser, head: _Head, method: str
) -> bytes:
    """Read until the head is complete; returns what followed it after an upgrade."""
    while not head.complete:
        data = await reader.read(CHUNK)
        if not data:
            raise EOFError("the connection was closed before an answer came")
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            head.status = parser.get_status_code()
            return data[upgrade.args[0] :]
    head.status = parser.get_status_code()
    head.ended = head.ended or method == "HEAD" or head.status in (204, 304)
    return b""


async def _body(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    parser: httptools.HttpResponseParser,
    head: _Head,
) -> AsyncIterator[bytes]:
    try:
        while True:
            if head.body:
                chunk, head.body = bytes(head.body), bytearray()
                yield chunk
            if head.ended:
                return
            data = await reader.read(CHUNK)
            if not data:
                return
            parser.feed_data(data)
    finally:
        writer.close()


async def _pump(
    tunnel: Tunnel, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes
) -> None:
    """Bytes both ways until either side ends."""

    async def towards_client() -> None:
        data = first
        while True:
            if data:
                await tunnel.write(data)
            data = await reader.read(CHUNK)
            if not data:
                return

    async def towards_backend() -> None:
        while data := await tunnel.read():
            writer.write(data)
            await writer.drain()

    tasks = [asyncio.create_task(towards_client()), asyncio.create_task(towards_backend())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(OSError):
            writer.close()
