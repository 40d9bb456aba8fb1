"""Listening sockets and their connections; starting and stopping them gracefully."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl

from fairway.httpserver.messages import Handler, Response
from fairway.httpserver.protocol import HttpProtocol

BODY_LIMIT = 3 * 1024 * 1024
FAREWELL = 0.5
"""Seconds in which a client that is told that a TLS connection ends may say so, too. Idle ones often don't
look."""


class HttpServer:
    """Serves one handler on any number of addresses."""

    def __init__(
        self,
        handler: Handler,
        *,
        tls: ssl.SSLContext | None = None,
        body_limit: int = BODY_LIMIT,
        too_large: Response | None = None,
        unknown_method: Response | None = None,
        internal_error: Response | None = None,
    ) -> None:
        self.handler = handler
        self.body_limit = body_limit
        self.too_large = too_large or Response(413, b"request body too large\n", "text/plain")
        self.unknown_method = unknown_method or Response(405, b"unknown method\n", "text/plain")
        self.internal_error = internal_error or Response(500, b"internal error\n", "text/plain")
        self._connections: set[HttpProtocol] = set()
        self._all_closed = asyncio.Event()
        self.stopping = asyncio.Event()
        self._tls = tls
        self._listeners: list[asyncio.Server] = []

    async def listen(self, host: str | None, port: int) -> int:
        """Start listening, without a host on every address of both families; returns the port, which
        matters when 0 was asked for."""
        server = await asyncio.get_running_loop().create_server(
            lambda: HttpProtocol(self),
            host,
            port,
            ssl=self._tls,
            ssl_shutdown_timeout=FAREWELL if self._tls else None,
            backlog=1024,
            reuse_address=True,
        )
        self._listeners.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def listen_on(self, listening: socket.socket) -> None:
        """A socket that someone else has bound, such as one of another network namespace."""
        server = await asyncio.get_running_loop().create_server(
            lambda: HttpProtocol(self),
            sock=listening,
            ssl=self._tls,
            ssl_shutdown_timeout=FAREWELL if self._tls else None,
            backlog=1024,
        )
        self._listeners.append(server)

    async def stop(self, patience: float = 5.0) -> None:
        """Accept nothing new, let what is being answered finish for `patience` seconds, then close."""
        self.stopping.set()
        for listener in self._listeners:
            listener.close()
        for connection in list(self._connections):
            connection.close_if_idle()
        if self._connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), patience)
        for connection in list(self._connections):
            connection.abort()

    # -- called by the connections ---------------------------------------------------------------------

    def opened(self, connection: HttpProtocol) -> None:
        self._connections.add(connection)
        self._all_closed.clear()

    def closed(self, connection: HttpProtocol) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._all_closed.set()
