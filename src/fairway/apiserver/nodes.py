"""The one call the API server makes itself: to a node's agent, over mutually authenticated TLS.

For logs, exec, attach and port-forward. What is said there is not understood here: bytes pass through.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httptools

from fairway.api.errors import StatusError, unavailable
from fairway.httpserver import Response, Stream, Tunnel, Upgrade
from fairway.httpserver.messages import Answer, Headers

Obj = dict[str, Any]

CHUNK = 64 * 1024
CONNECT_SECONDS = 5.0
HOP_BY_HOP = frozenset(("connection", "transfer-encoding", "keep-alive", "content-length", "date"))


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


class NodeConnector:
    """Opens connections to node agents with the API server's own certificate."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls

    async def forward(self, node: Obj, method: str, target: str, headers: dict[str, str]) -> Answer:
        """Send a request without body to the node's agent and pass on whatever it answers."""
        host, port = agent_address(node)
        try:
            reader, writer = await asyncio.wait_for(
                asyncio.open_connection(host, port, ssl=self._tls, limit=CHUNK), CONNECT_SECONDS
            )
        except (OSError, TimeoutError) as error:
            name = node["metadata"]["name"]
            raise unavailable(f"error dialing backend: node {name} at {host}:{port}: {error}") from error
        writer.write(_request_head(method, target, host, headers))
        head = _Head()
        parser = httptools.HttpResponseParser(head)
        try:
            rest = await _read_head(reader, parser, head)
        except (OSError, EOFError) as error:
            writer.close()
            raise unavailable(f"error talking to node {node['metadata']['name']}: {error}") from error
        if head.status == 101:
            return Upgrade(lambda tunnel: _pump(tunnel, reader, writer, rest), _upgrade_headers(head))
        content_type = head.header("content-type") or "text/plain"
        if head.ended:
            writer.close()
            return Response(head.status, bytes(head.body), content_type, head.passed_on())
        chunks = _body(reader, writer, parser, head)
        return Stream(chunks, head.status, content_type, head.passed_on())


def agent_address(node: Obj) -> tuple[str, int]:
    status = node.get("status") or {}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port")
    addresses = {a.get("type"): a.get("address") for a in status.get("addresses") or ()}
    address = addresses.get("InternalIP") or addresses.get("Hostname")
    if not address or not port:
        message = f"node {node['metadata']['name']} has not said where its agent listens"
        raise StatusError(503, "ServiceUnavailable", message)
    return str(address), int(port)


def _request_head(method: str, target: str, host: str, headers: dict[str, str]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    for name, value in headers.items():
        if name not in ("host", "authorization", "content-length", "accept-encoding"):
            lines.append(f"{name}: {value}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _read_head(
    reader: asyncio.StreamReader, parser: httptools.HttpResponseParser, head: _Head
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
    return b""


def _upgrade_headers(head: _Head) -> Headers:
    return tuple((name, value) for name, value in head.headers if name.lower() != "date")


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

    async def towards_node() -> None:
        while data := await tunnel.read():
            writer.write(data)
            await writer.drain()

    tasks = [asyncio.create_task(towards_client()), asyncio.create_task(towards_node())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(OSError):
            writer.close()
