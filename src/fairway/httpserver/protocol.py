"""One connection: bytes to requests, requests to the handler one at a time, answers to bytes.

Requests that arrive while one is being answered wait in order (pipelining). A connection that closes
cancels what was being answered on it.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import httptools
import structlog

from fairway.httpserver.messages import (
    Answer,
    Headers,
    Peer,
    Request,
    Response,
    Stream,
    Upgrade,
    reason_phrase,
)
from fairway.httpserver.tunnel import Tunnel

if TYPE_CHECKING:
    from fairway.httpserver.server import HttpServer

log = structlog.get_logger()

MAX_PIPELINED = 64
# What is a request but for its method, which the parser doesn't know.
REQUEST_LINE = re.compile(rb"[A-Z]+ /\S* HTTP/1\.[01]\r?\n")
MAX_HEADER_BYTES = 1024 * 1024
STATUS_LINES = {
    code: f"HTTP/1.1 {code} {reason_phrase(code)}\r\n".encode()
    for code in (
        200,
        201,
        202,
        204,
        206,
        301,
        302,
        304,
        400,
        401,
        403,
        404,
        405,
        406,
        409,
        410,
        413,
        415,
        422,
        429,
    )
}


def _status_line(status: int) -> bytes:
    return STATUS_LINES.get(status) or f"HTTP/1.1 {status} {reason_phrase(status)}\r\n".encode()


def _head(status: int, content_type: str, extra: Headers, framing: str) -> bytes:
    lines = [f"{name}: {value}\r\n" for name, value in extra]
    if content_type:
        lines.append(f"Content-Type: {content_type}\r\n")
    return _status_line(status) + ("".join(lines) + framing).encode("latin-1", "replace")


class HttpProtocol(asyncio.Protocol):
    """Serves one client connection for an `HttpServer`."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._peer = Peer()
        self._waiting: deque[tuple[Request, bool, Response | None]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._tunnel: Tunnel | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._reset_request()

    def _reset_request(self) -> None:
        self._target = b""
        self._headers: dict[str, str] = {}
        self._header_bytes = 0
        self._body: list[bytes] = []
        self._body_size = 0
        self._refusal: Response | None = None

    # -- asyncio ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._peer = peer_of(self._transport)
        self._server.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.closed(self)
        self._writable.set()
        if self._tunnel:
            self._tunnel.end()
        elif self._task:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._tunnel:
            self._tunnel.feed(data)
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._leftover = data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            unknown_method = isinstance(error, httptools.HttpParserInvalidMethodError)
            if unknown_method and REQUEST_LINE.match(data):
                self._refuse_connection(405, self._server.unknown_method)
            else:
                self._refuse_connection(400)

    def eof_received(self) -> bool:
        if self._tunnel:
            self._tunnel.end()
        return False

    def pause_writing(self) -> None:
        self._writable.clear()
        if self._tunnel:
            self._tunnel.pause()

    def resume_writing(self) -> None:
        self._writable.set()
        if self._tunnel:
            self._tunnel.resume()

    # -- httptools -------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._reset_request()

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > MAX_HEADER_BYTES:
            self._refuse_connection(431)
            return
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        known = self._headers.get(key)
        self._headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        if self._headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body_size += len(body)
        if self._body_size > 8 * self._server.body_limit:
            self._transport.abort()
        elif self._body_size > self._server.body_limit:
            self._body.clear()
            self._refusal = self._server.too_large
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if self._transport.is_closing():
            return
        request = Request(
            self._parser.get_method().decode(),
            self._target.decode("latin-1"),
            self._headers,
            b"".join(self._body) if len(self._body) != 1 else self._body[0],
            self._peer,
        )
        self._leftover = b""
        self._waiting.append((request, self._parser.should_keep_alive(), self._refusal))
        if len(self._waiting) > MAX_PIPELINED:
            self._transport.pause_reading()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._answer_all())

    # -- answering -------------------------------------------------------------------------------------

    async def _answer_all(self) -> None:
        try:
            while self._waiting:
                request, keep_alive, refusal = self._waiting.popleft()
                answer = refusal or await self._handled(request)
                keep_alive = keep_alive and not self._server.stopping.is_set()
                if isinstance(answer, Response):
                    self._send_whole(request, answer, keep_alive)
                    if not self._writable.is_set():
                        await self._writable.wait()
                elif isinstance(answer, Stream):
                    await self._send_stream(request, answer, keep_alive)
                else:
                    await self._switch(answer)
                    return
                if not keep_alive:
                    self._transport.close()
                    return
                if request.wants_upgrade:
                    self._restart_parser()
                self._transport.resume_reading()
        except (ConnectionError, asyncio.CancelledError):
            self._transport.close()
        finally:
            self._task = None

    async def _handled(self, request: Request) -> Answer:
        try:
            return await self._server.handler(request)
        except Exception:
            log.exception("request failed", method=request.method, target=request.target)
            return self._server.internal_error

    def _send_whole(self, request: Request, answer: Response, keep_alive: bool) -> None:
        closing = "" if keep_alive else "Connection: close\r\n"
        framing = f"Content-Length: {len(answer.body)}\r\n{closing}\r\n"
        head = _head(answer.status, answer.content_type, answer.headers, framing)
        if request.method == "HEAD":
            self._transport.write(head)
        elif len(answer.body) < 65536:
            self._transport.write(head + answer.body)
        else:
            self._transport.writelines((head, answer.body))

    async def _send_stream(self, request: Request, answer: Stream, keep_alive: bool) -> None:
        closing = "" if keep_alive else "Connection: close\r\n"
        framing = f"Transfer-Encoding: chunked\r\n{closing}\r\n"
        write = self._transport.write
        write(_head(answer.status, answer.content_type, answer.headers, framing))
        async for chunk in answer.chunks:
            if chunk:
                write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                if not self._writable.is_set():
                    await self._writable.wait()
                if self._transport.is_closing():
                    raise ConnectionResetError("the client left")
        write(b"0\r\n\r\n")

    async def _switch(self, answer: Upgrade) -> None:
        self._tunnel = Tunnel(self._transport)
        self._transport.write(_head(101, "", answer.headers, "\r\n"))
        if self._leftover:
            self._tunnel.feed(self._leftover)
        try:
            await answer.talk(self._tunnel)
        except ConnectionError:
            pass
        except Exception:
            log.exception("upgraded connection failed")
        finally:
            self._transport.close()

    def _restart_parser(self) -> None:
        """An upgrade that was declined: the bytes after the request are an ordinary next request."""
        self._parser = httptools.HttpRequestParser(self)
        if self._leftover:
            leftover, self._leftover = self._leftover, b""
            self.data_received(leftover)

    def _refuse_connection(self, status: int, answer: Response | None = None) -> None:
        if not self._transport.is_closing():
            answer = answer or Response(status, b"", "text/plain")
            framing = f"Content-Length: {len(answer.body)}\r\nConnection: close\r\n\r\n"
            self._transport.write(_head(status, answer.content_type, answer.headers, framing) + answer.body)
            self._transport.close()

    def close_if_idle(self) -> None:
        if self._task is None:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()


def peer_of(transport: asyncio.Transport) -> Peer:
    address = transport.get_extra_info("peername")
    host = address[0] if isinstance(address, tuple) else ""
    get_certificate: Callable[[], Any] | None = getattr(
        transport.get_extra_info("ssl_object"), "getpeercert", None
    )
    certificate = get_certificate() if get_certificate else None
    if not certificate:
        return Peer(host)
    names = [pair for part in certificate.get("subject", ()) for pair in part]
    common_name = next((value for kind, value in names if kind == "commonName"), "")
    return Peer(host, common_name, tuple(value for kind, value in names if kind == "organizationName"))
