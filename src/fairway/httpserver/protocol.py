"""One connection: bytes to requests, requests to the handler one at a time, answers to bytes.

Requests that arrive while one is being answered wait in order (pipelining). A connection that closes
cancels what was being answered on it.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import httptools
import structlog

from fairway.httpserver.framing import LAST_CHUNK, chunk, head, sized, streamed
from fairway.httpserver.messages import Answer, Peer, Request, Response, Stream, Upgrade
from fairway.httpserver.tunnel import Tunnel

if TYPE_CHECKING:
    from fairway.httpserver.server import HttpServer

log = structlog.get_logger()

MAX_PIPELINED = 64
# A request but for its method, which the parser doesn't know.
REQUEST_LINE = re.compile(rb"[A-Z]+ /\S* HTTP/1\.[01]\r?\n")
MAX_HEAD_BYTES = 1024 * 1024
# A client that goes on sending after its body was found too large is read this many times the limit, so that
# it gets to see the refusal; then it is cut off.
OVERRUN = 8

# An answer longer than this is sent in slices of this size.
SLICE = 64 * 1024


class Waiting(NamedTuple):
    """A request that has arrived in full."""

    request: Request
    keep_alive: bool
    chunked: bool
    refusal: Response | None


class HttpProtocol(asyncio.Protocol):
    """Serves one client connection for an `HttpServer`."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._peer = Peer()
        self._waiting: deque[Waiting] = deque()
        self._waiting_bytes = 0
        self._task: asyncio.Task[None] | None = None
        self._tunnel: Tunnel | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        # After a request to upgrade, what follows is not HTTP unless the upgrade is declined.
        self._upgrading = False
        self._leftover = b""
        self._reset_request()

    def _reset_request(self) -> None:
        self._target = bytearray()
        self._headers: dict[str, str] = {}
        self._in_head = True
        self._head_bytes = 0
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
        elif self._upgrading:
            self._leftover += data
            if len(self._leftover) > MAX_HEAD_BYTES:
                self._transport.pause_reading()
        else:
            self._parse(data)

    def _parse(self, data: bytes) -> None:
        self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgrading, self._leftover = True, data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            made_up = isinstance(error, httptools.HttpParserInvalidMethodError) and REQUEST_LINE.match(data)
            self._refuse(self._server.unknown_method if made_up else Response(400, b"", "text/plain"))
        if self._in_head and self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(Response(431, b"", "text/plain"))

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
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        known = self._headers.get(key)
        self._headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body_size += len(body)
        if self._body_size <= self._server.body_limit:
            self._body.append(body)
            return
        self._body.clear()
        self._refusal = self._server.too_large
        if self._body_size > OVERRUN * self._server.body_limit:
            self._refuse(self._refusal)

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
        chunked = self._parser.get_http_version() != "1.0"
        self._waiting.append(Waiting(request, self._parser.should_keep_alive(), chunked, self._refusal))
        self._waiting_bytes += len(request.body)
        if self._is_behind():
            self._transport.pause_reading()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._answer_all())

    def _is_behind(self) -> bool:
        return len(self._waiting) > MAX_PIPELINED or self._waiting_bytes > self._server.body_limit

    # -- answering -------------------------------------------------------------------------------------

    async def _answer_all(self) -> None:
        try:
            while self._waiting:
                waiting = self._waiting.popleft()
                self._waiting_bytes -= len(waiting.request.body)
                answer = waiting.refusal or await self._handled(waiting.request)
                if isinstance(answer, Upgrade):
                    await self._switch(answer)
                    return
                if not await self._send(waiting, answer):
                    self._transport.close()
                    return
                if self._upgrading:
                    self._restart_parser()
                if not self._is_behind():
                    self._transport.resume_reading()
        except (ConnectionError, asyncio.CancelledError):
            self._transport.close()
        except Exception:
            # Half an answer is out already: only a broken connection tells the client so.
            log.exception("answer broke off")
            self._transport.abort()
        finally:
            self._task = None

    async def _send(self, waiting: Waiting, answer: Response | Stream) -> bool:
        """Whether the connection is good for another request."""
        keep_alive = waiting.keep_alive and not self._server.stopping.is_set()
        if isinstance(answer, Stream):
            await self._send_stream(waiting, answer, keep_alive)
            keep_alive = keep_alive and waiting.chunked
        else:
            await self._send_whole(waiting.request, answer, keep_alive)
        return keep_alive and not self._server.stopping.is_set()

    async def _handled(self, request: Request) -> Answer:
        try:
            return await self._server.handler(request)
        except Exception:
            log.exception("request failed", method=request.method, target=request.target)
            return self._server.internal_error

    async def _send_whole(self, request: Request, answer: Response, keep_alive: bool) -> None:
        before = head(answer.status, answer.content_type, answer.headers, sized(len(answer.body), keep_alive))
        if request.method == "HEAD":
            self._transport.write(before)
        elif len(answer.body) < SLICE:
            self._transport.write(before + answer.body)
        else:
            self._transport.write(before)
            await self._send_slices(memoryview(answer.body))
        if not self._writable.is_set():
            await self._writable.wait()

    async def _send_slices(self, body: memoryview) -> None:
        """The client can take in (and decrypt) the first slices while we are busy with the next ones."""
        for start in range(0, len(body), SLICE):
            self._transport.write(body[start : start + SLICE])
            await asyncio.sleep(0)
            if not self._writable.is_set():
                await self._writable.wait()
            if self._transport.is_closing():
                raise ConnectionResetError("the client left")

    async def _send_stream(self, waiting: Waiting, answer: Stream, keep_alive: bool) -> None:
        write = self._transport.write
        framing = streamed(waiting.chunked, keep_alive)
        write(head(answer.status, answer.content_type, answer.headers, framing))
        if waiting.request.method == "HEAD":
            return
        if answer.told:
            answer.told(lambda piece: self._push(chunk(piece) if waiting.chunked else piece))
        async for piece in answer.chunks:
            if piece:
                write(chunk(piece) if waiting.chunked else piece)
                if not self._writable.is_set():
                    await self._writable.wait()
                if self._transport.is_closing():
                    raise ConnectionResetError("the client left")
        if waiting.chunked:
            write(LAST_CHUNK)

    def _push(self, data: bytes) -> bool:
        if not self._writable.is_set() or self._transport.is_closing():
            return False
        self._transport.write(data)
        return True

    async def _switch(self, answer: Upgrade) -> None:
        self._tunnel = Tunnel(self._transport)
        self._transport.write(head(101, "", answer.headers, "\r\n"))
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
        self._upgrading = False
        self._parser = httptools.HttpRequestParser(self)
        if self._leftover:
            leftover, self._leftover = self._leftover, b""
            self.data_received(leftover)

    def _refuse(self, answer: Response) -> None:
        """Answer and hang up, unless something else is being answered: then only hang up."""
        if self._transport.is_closing():
            return
        if self._task:
            self._transport.abort()
            return
        framing = sized(len(answer.body), keep_alive=False)
        self._transport.write(head(answer.status, answer.content_type, answer.headers, framing) + answer.body)
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
