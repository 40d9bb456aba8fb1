"""HTTP to one API server: who we are on every request, trying again, and the mapping of every failure.

Bytes in and bytes out; what they mean is for `rest` and `list_watch`. Plain requests go over `connections`;
streams, WebSockets and everything through a proxy over aiohttp, which only this module knows, but for the way
it is imported.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from asyncio import sleep
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Self
from urllib.parse import quote, urlencode

from multidict import CIMultiDict
from yarl import URL

from fairway.client.connections import KEEP_SECONDS, Answer, Connections
from fairway.client.credentials import Credentials
from fairway.client.errors import (
    KubeConfigError,
    TooManyRequests,
    Unavailable,
    error_from_answer,
)
from fairway.client.http_library import aiohttp
from fairway.client.kubeconfig import KubeConfig

_ATTEMPTS = 5
_LONGEST_WAIT = 10.0


class Transport:
    """Use as an async context manager, or `open` and `close` it."""

    def __init__(self, config: KubeConfig, *, component: str, timeout: float) -> None:
        self.config = config
        # Compression costs both sides more processor time than a local network costs.
        self._about_us = {"User-Agent": f"fairway-{component}", "Accept-Encoding": "identity"}
        self._timeout = timeout
        self._credentials = Credentials(config)
        self._session: aiohttp.ClientSession | None = None
        self._connections: Connections | None = None
        self._certificate = config.client_certificate
        self._outdated: asyncio.Future[None] | None = None

    async def __aenter__(self) -> Self:
        self._opened(self.config)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        session, self._session = self._session, None
        if self._connections:
            self._connections.close()
        if session:
            await session.close()
        await asyncio.sleep(0)  # in which the event loop lets go of what was closed

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        within: float | None = None,
    ) -> bytes:
        """One request, its answer read whole. Waits and tries again where the server asks for it."""
        headers = {"Accept": accept} | ({"Content-Type": content_type} if body is not None else {})
        seconds = within or self._timeout
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                if self.config.proxy_url is None:
                    return await self._plainly(method, path, params, headers, seconds, body)
                async with self._exchange(method, path, params, headers, seconds, seconds, body) as answer:
                    return await answer.read()
            except (TooManyRequests, Unavailable) as error:
                if error.retry_after is None or attempt == _ATTEMPTS:
                    raise
                await sleep(min(error.retry_after, _LONGEST_WAIT))
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *,
        params: Mapping[str, str],
        within: float | None = None,
        accept: str = "application/json",
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """A GET whose answer arrives over time, as the chunks in which it comes."""
        headers = {"Accept": accept}
        async with self._exchange("GET", path, params, headers, self._timeout, within) as answer:
            _detect_dead_peer(answer)
            try:
                yield answer.content.iter_any()
            finally:
                _hang_up(answer)

    @asynccontextmanager
    async def websocket(
        self, path: str, *, params: Sequence[tuple[str, str]], protocol: str
    ) -> AsyncIterator[WebSocket]:
        """A connection upgraded to a WebSocket of a subprotocol."""
        url = URL(self.config.server + path).update_query(params)
        try:
            used = await self._who_we_are()
            async with self._opened(used).ws_connect(
                url,
                protocols=(protocol,),
                headers=_identity(used, {}),
                server_hostname=self.config.tls_server_name,
                max_msg_size=0,
            ) as connection:
                # aiohttp forgets it on closing, and TLS would wait for the peer's farewell.
                transport = _transport(connection._response)
                try:
                    yield WebSocket(connection)
                finally:
                    await connection.close()
                    _abort(transport)
        except aiohttp.WSServerHandshakeError as error:
            raise error_from_answer(error.status, b"", None) from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unavailable.unreachable(error) from error

    async def _plainly(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str],
        within: float,
        body: bytes | None,
    ) -> bytes:
        """The answer to one request, without aiohttp, which takes three times the processor's time for it."""
        target = path
        if params:
            target += ("&" if "?" in path else "?") + urlencode(params, quote_via=quote)
        try:
            async with asyncio.timeout(within):
                answer = await self._plain_answer(method, target, headers, body)
        except OSError as error:
            raise Unavailable.unreachable(error) from error
        if answer.status >= 300:
            raise error_from_answer(answer.status, answer.body, answer.retry_after)
        return answer.body

    async def _plain_answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        for last in (False, True):
            used = await self._who_we_are()
            self._opened(used)
            assert self._connections is not None
            said = _identity(used, {**self._about_us, **headers})
            answer = await self._connections.exchange(method, target, said.items(), body)
            if last or answer.status != HTTPStatus.UNAUTHORIZED or not self._credentials.refused(used):
                break
        return answer

    @asynccontextmanager
    async def _exchange(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str],
        answer_within: float,
        end_within: float | None,
        body: bytes | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to one request; whatever goes wrong, while reading it too, becomes an ApiError."""
        url = URL(self.config.server + path)
        url = url.update_query(params) if params else url
        try:
            async with asyncio.timeout(answer_within):
                answer = await self._answer(method, url, headers, end_within, body)
            async with answer:
                await _raise_for_status(answer)
                yield answer
        except (aiohttp.ClientError, OSError) as error:
            raise Unavailable.unreachable(error) from error

    async def _answer(
        self, method: str, url: URL, headers: Mapping[str, str], end_within: float | None, body: bytes | None
    ) -> aiohttp.ClientResponse:
        """Sends the request; once more if who we are was refused and there is another way to say it."""
        for last in (False, True):
            used = await self._who_we_are()
            answer = await self._opened(used).request(
                method,
                url,
                data=body,
                headers=_identity(used, headers),
                timeout=aiohttp.ClientTimeout(total=end_within),
                server_hostname=self.config.tls_server_name,
                proxy=self.config.proxy_url,
                allow_redirects=False,
            )
            if last or answer.status != HTTPStatus.UNAUTHORIZED or not self._credentials.refused(used):
                break
            answer.release()
        return answer

    async def _who_we_are(self) -> KubeConfig:
        """A plugin that fails is like a server that can't be reached: it may work again later."""
        try:
            return await self._credentials.current()
        except KubeConfigError as error:
            raise Unavailable.unreachable(error) from error

    def _opened(self, identity: KubeConfig) -> aiohttp.ClientSession:
        """The session, made on first use because aiohttp needs a running loop for it.

        Another certificate needs other connections; watches over the old ones are taken up again.
        """
        if self._session is not None and identity.client_certificate != self._certificate:
            self._outdated = asyncio.ensure_future(self._session.close())
            self._session = None
        if self._session is None:
            self._certificate = identity.client_certificate
            tls = identity.ssl_context()
            self._replace_connections(tls)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0, ssl=tls or self._to_proxy(), keepalive_timeout=KEEP_SECONDS
                ),
                headers=self._about_us,
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=1 << 20,
            )
        return self._session

    def _replace_connections(self, tls: ssl.SSLContext | None) -> None:
        if self._connections is not None:
            self._connections.close()
        self._connections = Connections(self.config.server, tls, self.config.tls_server_name)

    def _to_proxy(self) -> ssl.SSLContext | bool:
        """For a plain http:// server: only a proxy before it may speak TLS."""
        return ssl.create_default_context() if (self.config.proxy_url or "").startswith("https:") else True


def _identity(used: KubeConfig, headers: Mapping[str, str]) -> CIMultiDict[str]:
    merged = CIMultiDict(headers)
    if authorization := used.authorization():
        merged["Authorization"] = authorization
    for name, value in used.impersonate.items():
        for one in value if isinstance(value, list) else [value]:
            merged.add(name, str(one))
    return merged


class WebSocket:
    """Messages of bytes, both ways."""

    def __init__(self, connection: aiohttp.ClientWebSocketResponse) -> None:
        self._connection = connection

    async def send(self, message: bytes) -> None:
        await self._connection.send_bytes(message)

    async def receive(self) -> bytes | None:
        """The next message, or None once the other side has closed."""
        message = await self._connection.receive()
        if message.type is aiohttp.WSMsgType.BINARY:
            return bytes(message.data)
        if message.type is aiohttp.WSMsgType.TEXT:
            return str(message.data).encode()
        return None


async def _raise_for_status(answer: aiohttp.ClientResponse) -> None:
    if answer.status >= 300:
        raise error_from_answer(answer.status, await answer.read(), answer.headers.get("Retry-After"))


def _hang_up(answer: aiohttp.ClientResponse) -> None:
    """Unless the answer came to its end, the connection is of no more use: don't wait for a farewell."""
    _abort(_transport(answer))


def _transport(answer: aiohttp.ClientResponse) -> asyncio.Transport | None:
    return answer.connection.transport if answer.connection else None


def _abort(transport: asyncio.Transport | None) -> None:
    if transport:
        transport.abort()


def _detect_dead_peer(answer: aiohttp.ClientResponse) -> None:
    """A watch may be silent for minutes; only keep-alive probes tell that from a vanished server."""
    transport = _transport(answer)
    sock = transport.get_extra_info("socket") if transport else None
    if sock is None or sock.family == socket.AF_UNIX:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
