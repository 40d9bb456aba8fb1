"""Small HTTP pages of plugins (health, ready, metrics): one server an address, whoever has pages on it.

They outlive a change of the Corefile: a page put in anew takes the place of the old one without closing the
port.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from fairway.httpserver import HttpServer, Request, Response

log = structlog.get_logger()
_RETRY = 0.5
Page = Callable[[], tuple[int, str]]
"""Status and text of a page."""


class Pages:
    """`default_host` is where pages go whose address names none."""

    def __init__(self, default_host: str = "") -> None:
        self._default_host = default_host or "0.0.0.0"
        self._servers: dict[tuple[str, int], HttpServer] = {}
        self._pages: dict[tuple[str, int], dict[str, Page]] = {}
        self._waiting: dict[tuple[str, int], asyncio.Task[None]] = {}

    async def put(self, host: str, port: int, path: str, page: Page) -> None:
        where = (host, port)
        self._pages.setdefault(where, {})[path] = page
        if where in self._servers:
            return

        async def answer(request: Request) -> Response:
            found = self._pages[where].get(request.path)
            status, text = found() if found else (404, "404 page not found\n")
            return Response(status, text.encode(), "text/plain; charset=utf-8")

        server = self._servers[where] = HttpServer(answer)
        if not await self._listen(server, where):
            # A page nobody can read is no reason to leave questions unanswered. A predecessor may still
            # have the port.
            log.warning("page not served yet", host=host, port=port, path=path)
            self._waiting[where] = asyncio.create_task(self._listen_later(server, where))

    async def _listen(self, server: HttpServer, where: tuple[str, int]) -> bool:
        try:
            await server.listen(where[0] or self._default_host, where[1])
        except OSError:
            return False
        return True

    async def _listen_later(self, server: HttpServer, where: tuple[str, int]) -> None:
        while True:
            await asyncio.sleep(_RETRY)
            if await self._listen(server, where):
                return

    async def take(self, host: str, port: int, path: str, page: Page) -> None:
        """Removes the page, unless another has taken its place."""
        pages = self._pages.get((host, port), {})
        if pages.get(path) == page:
            del pages[path]
        if not pages and (host, port) in self._waiting:
            self._waiting.pop((host, port)).cancel()
        if not pages and (host, port) in self._servers:
            await self._servers.pop((host, port)).stop(patience=0.5)
