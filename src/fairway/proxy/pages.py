"""The proxy's HTTP pages: health for load balancers and supervisors, details for those who look closer.

Two servers, as with kube-proxy: health is for everyone, the rest for this machine unless told otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import structlog

from fairway.httpserver import HttpServer, Request, Response
from fairway.metrics import Figure
from fairway.proxy.config import ConfigError

log = structlog.get_logger()

TEXT = "text/plain; charset=utf-8"
Page = Callable[[Request], Awaitable[Response]]
NOT_FOUND = Response(404, b"404 page not found\n", TEXT)
_WAIT = 2.0


def text(body: str, status: int = 200) -> Response:
    return Response(status, body.encode(), TEXT, (("X-Content-Type-Options", "nosniff"),))


async def serve(name: str, where: tuple[str, int] | None, pages: Mapping[str, Page], hard: bool) -> None:
    """Until cancelled. A port that someone else has is waited for, unless that is to be fatal (`hard`)."""
    if where is None:
        return

    async def answer(request: Request) -> Response:
        page = pages.get(request.path)
        return await page(request) if page else NOT_FOUND

    server = HttpServer(answer)
    try:
        await _listen(name, server, where, hard)
        await asyncio.Event().wait()
    finally:
        await server.stop(patience=0.2)


async def _listen(name: str, server: HttpServer, where: tuple[str, int], hard: bool) -> None:
    host, port = where
    warned = False
    while True:
        try:
            await server.listen(host, port)
            return
        except OSError as error:
            if hard:
                raise ConfigError(
                    f"{name} can't be served on {host}:{port} ({error.strerror}): choose another address with"
                    f" --{name}-bind-address, or leave out --bind-address-hard-fail"
                ) from error
            if not warned:
                log.warning("not served yet", what=name, host=host, port=port, error=str(error))
            warned = True
            await asyncio.sleep(_WAIT)


def process_figures() -> Iterator[Figure]:
    """What every Prometheus client tells of its process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = "Total user and system CPU time spent in seconds."
    yield Figure("process_cpu_seconds_total", used.ru_utime + used.ru_stime, (), "counter", cpu)
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        size = pages * resource.getpagesize()
        yield Figure("process_resident_memory_bytes", size, (), "gauge", "Resident memory size in bytes.")
        files = len(os.listdir("/proc/self/fd"))
        yield Figure("process_open_fds", files, (), "gauge", "Number of open file descriptors.")
