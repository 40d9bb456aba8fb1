"""One upstream server: a question over UDP, TCP or TLS and the answer that belongs to it, and nothing else.

Every UDP question leaves from a fresh socket, so with a random port and id (RFC 5452); the socket is
connected, so only the server itself can answer, and a closed port shows at once.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import ssl
from collections import Counter

import structlog

from fairway.dns import wire
from fairway.dns.layout import WireError
from fairway.dns.plugins.forward.connections import ERRORS, Connections
from fairway.dns.plugins.forward.options import Options
from fairway.dns.wire import Query, Reply

log = structlog.get_logger()
_UDP_PATIENCE = 2.0
_TCP_PATIENCE = 4.0
_MAX_ANSWER = 65535


class UpstreamError(Exception):
    """No usable answer came."""


class Upstream:
    def __init__(
        self, host: str, port: int, options: Options, health_failures: Counter[str] | None = None
    ) -> None:
        self.host = host
        self.port = port
        self.name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._health_failures: Counter[str] = Counter() if health_failures is None else health_failures
        self._options = options
        self._fails = 0
        self._probe: asyncio.Task[None] | None = None
        name = options.tls_name_of(host, port)
        self.secure = name is not None
        tls = _tls_context(options) if self.secure else None
        self._connections = Connections(host, port, tls, name or "", options.expire, options.most_idle)

    # ---- health ----------------------------------------------------------------------------------------

    @property
    def down(self) -> bool:
        """Whether it failed so often that others are asked first."""
        return 0 < self._options.max_fails <= self._fails

    def succeeded(self) -> None:
        self._fails = 0

    def failed(self) -> None:
        self._fails += 1
        if self.down and (self._probe is None or self._probe.done()):
            log.warning("upstream is down", server=f"{self.host}:{self.port}")
            self._probe = asyncio.create_task(self._probe_until_up())

    async def _probe_until_up(self) -> None:
        flags = wire.RD if self._options.health_recurse else 0
        while self.down:
            await asyncio.sleep(self._options.health_interval)
            query = Query(secrets.randbits(16), self._options.health_domain, wire.NS, flags=flags)
            ask = self.over_tcp if self._options.force_tcp or self.secure else self.over_udp
            try:
                await ask(query)
                self._fails = 0
            except UpstreamError:
                self._health_failures[self.name] += 1
        log.info("upstream is up again", server=f"{self.host}:{self.port}")

    def close(self) -> None:
        if self._probe:
            self._probe.cancel()
        self._connections.close()

    # ---- exchanges -------------------------------------------------------------------------------------

    async def over_udp(self, query: Query) -> Reply:
        loop = asyncio.get_running_loop()
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            try:
                sock.connect((self.host, self.port))
                async with asyncio.timeout(_UDP_PATIENCE):
                    await loop.sock_sendall(sock, wire.write_query(query))
                    return await self._matching(loop, sock, query)
            except (OSError, TimeoutError) as error:
                raise UpstreamError(str(error)) from None

    async def _matching(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, query: Query) -> Reply:
        """The first datagram that answers this question; others are dropped unread."""
        while True:
            data = await loop.sock_recv(sock, _MAX_ANSWER)
            try:
                reply = wire.read_reply(data, query)
            except WireError:
                continue
            if reply is not None:
                return reply

    async def over_tcp(self, query: Query) -> Reply:
        """Over a connection; with TLS where the server is one for that."""
        try:
            async with asyncio.timeout(_TCP_PATIENCE):
                reply = await self._connections.ask(query)
        except ERRORS as error:
            raise UpstreamError(str(error)) from None
        if reply is None:
            raise UpstreamError("the answer belongs to another question")
        return reply


def _tls_context(options: Options) -> ssl.SSLContext:
    """Certificates are always checked: against the system's authorities, or those of the Corefile."""
    files = options.tls_files
    context = ssl.create_default_context(cafile=files[-1] if len(files) in (1, 3) else None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if len(files) >= 2:
        context.load_cert_chain(files[0], files[1])
    return context
