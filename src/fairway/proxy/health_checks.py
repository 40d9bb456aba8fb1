"""Health-check node ports: load balancers ask each node for the endpoints that a Service has there.

What is to be served is planned from the states that have been programmed, so an answer is never ahead of the
kernel. Servers open and close with their Services.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import structlog

from fairway.httpserver import HttpServer, Request, Response
from fairway.proxy.changes import PortState
from fairway.proxy.model import Family
from fairway.proxy.programming import Changes

log = structlog.get_logger()
_RETRY = 2.0


@dataclass(frozen=True, slots=True)
class Check:
    """What is told of one Service, and where."""

    port: int
    local_endpoints: int


def check_of(states: Sequence[PortState]) -> Check | None:
    """None for a Service without a health-check port. Endpoints that are going away don't count."""
    port = next(
        (state.port.health_check_node_port for state in states if state.port.health_check_node_port), 0
    )
    return Check(port, max(_ready(states, family) for family in Family)) if port else None


def _ready(states: Sequence[PortState], family: Family) -> int:
    """A Pod with an address in each family is still one Pod."""
    mine = [state for state in states if state.port.name.family is family]
    return len({endpoint.ip for state in mine for endpoint in state.pools.local if endpoint.ready})


def answer(service: str, local_endpoints: int, is_healthy: bool) -> Response:
    namespace, _, name = service.partition("/")
    body = {
        "service": {"namespace": namespace, "name": name},
        "localEndpoints": local_endpoints,
        "serviceProxyHealthy": is_healthy,
    }
    headers = (
        ("X-Content-Type-Options", "nosniff"),
        ("X-Load-Balancing-Endpoint-Weight", str(local_endpoints)),
    )
    return Response(
        200 if local_endpoints and is_healthy else 503, msgspec.json.encode(body), headers=headers
    )


class HealthChecks:
    """`addresses` says where to listen; none means everywhere."""

    def __init__(self, is_healthy: Callable[[], bool], addresses: Callable[[], Sequence[str] | None]) -> None:
        self._is_healthy, self._addresses = is_healthy, addresses
        self._wanted: dict[str, Check] = {}
        self._servers: dict[str, tuple[int, HttpServer]] = {}
        self._failed: set[str] = set()
        self._changed = asyncio.Event()
        self._move = False

    def take(self, changes: Changes) -> None:
        """The new state of some Services is in force."""
        for service, states in changes.items():
            check = check_of(states)
            if check is None:
                if self._wanted.pop(service, None):
                    self._changed.set()
                continue
            if self._wanted.get(service) != check:
                self._wanted[service] = check
                self._changed.set()

    def move(self) -> None:
        """The addresses to listen on may be others."""
        self._move = True
        self._changed.set()

    async def run(self) -> None:
        """Opens and closes what the Services need, until cancelled. What failed is tried again."""
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                if not await self._adjust():
                    await asyncio.sleep(_RETRY)
                    self._changed.set()
        finally:
            for service in list(self._servers):
                await self._close(service)

    async def _adjust(self) -> bool:
        move, self._move = self._move, False
        for service, (port, _) in list(self._servers.items()):
            check = self._wanted.get(service)
            if move or check is None or check.port != port:
                await self._close(service)
        opened = [
            await self._open(s, c.port) for s, c in list(self._wanted.items()) if s not in self._servers
        ]
        return all(opened)

    async def _open(self, service: str, port: int) -> bool:
        async def handle(request: Request) -> Response:
            check = self._wanted.get(service)
            return answer(service, check.local_endpoints if check else 0, self._is_healthy())

        server = HttpServer(handle)
        addresses = self._addresses()
        try:
            # An empty list is nowhere, None is everywhere, in both families.
            for address in [""] if addresses is None else addresses:
                await server.listen(address or None, port)
        except OSError as error:
            await server.stop(0)
            if service not in self._failed:
                self._failed.add(service)
                log.warning("health-check port not served yet", service=service, port=port, error=str(error))
            return False
        self._failed.discard(service)
        self._servers[service] = (port, server)
        return True

    async def _close(self, service: str) -> None:
        _, server = self._servers.pop(service)
        await server.stop(patience=0.2)
