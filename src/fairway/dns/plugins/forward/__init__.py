"""`forward FROM TO…`: questions for names below FROM are asked of other servers.

`options` reads the directive, `upstream` talks to one server and watches its health; here one is chosen,
and the next one when it fails.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Callable, Sequence

import msgspec

from fairway.dns import wire
from fairway.dns.arguments import in_zones
from fairway.dns.corefile import Directive
from fairway.dns.metrics import Metrics
from fairway.dns.names import is_under
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.plugins.forward.options import Options, parse
from fairway.dns.plugins.forward.upstream import Upstream, UpstreamError
from fairway.dns.rdata import rcode_text
from fairway.dns.wire import Query, Reply

_DEADLINE = 5.0
_FAILED = Reply(wire.SERVFAIL)


class Pool:
    """The servers of one `forward` line."""

    def __init__(
        self, options: Options, metrics: Metrics, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.options = options
        self._clock = clock
        self.metrics = metrics
        failures = metrics.healthcheck_failures
        self.upstreams = [Upstream(*address, options, failures) for address in options.to]
        self._turn = 0
        self._running = 0

    def takes(self, name: bytes) -> bool:
        return is_under(name, self.options.origin) and not in_zones(name, self.options.excepted)

    async def ask(self, request: Request) -> Reply:
        if self.options.max_concurrent and self._running >= self.options.max_concurrent:
            self.metrics.concurrent_rejects += 1
            return Reply(wire.REFUSED)
        self._running += 1
        try:
            async with asyncio.timeout(_DEADLINE):
                return await self._ask_in_turn(request)
        except TimeoutError:
            return _FAILED
        finally:
            self._running -= 1

    async def _ask_in_turn(self, request: Request) -> Reply:
        # After each server was tried once, go round once more: one lost datagram is no outage.
        order = self._ordered()
        if self.options.fail_fast and all(upstream.down for upstream in order):
            return _FAILED
        last = _FAILED
        for upstream in (*order, *order):
            query = msgspec.structs.replace(request.query, id=secrets.randbits(16))
            begin = self._clock()
            try:
                reply = await self._exchange(upstream, query, request.tcp)
            except UpstreamError:
                upstream.failed()
                request.note(f"forward: no answer from {upstream.name}")
                continue
            upstream.succeeded()
            seconds = self._clock() - begin
            self.metrics.forwarded_to(upstream.name, rcode_text(reply.rcode), seconds)
            request.note(f"forward: asked {upstream.name}, {seconds * 1000:.1f} ms")
            if reply.rcode not in self.options.failover:
                return reply
            last = reply
        return last

    async def _exchange(self, upstream: Upstream, query: Query, tcp: bool) -> Reply:
        if upstream.secure or self.options.force_tcp or (tcp and not self.options.prefer_udp):
            return await upstream.over_tcp(query)
        reply = await upstream.over_udp(query)
        if reply.flags & wire.TC and (tcp or self.options.prefer_udp):
            return await upstream.over_tcp(query)
        return reply

    def _ordered(self) -> list[Upstream]:
        """All servers, those thought healthy first, in the order the policy gives."""
        servers = list(self.upstreams)
        match self.options.policy:
            case "random":
                random.shuffle(servers)
            case "round_robin":
                self._turn = (self._turn + 1) % len(servers)
                servers = servers[self._turn :] + servers[: self._turn]
        return sorted(servers, key=lambda server: server.down)


class Forward(Plugin):
    name = "forward"
    same_for_all = True
    repeats = True
    any_class = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        self.pools = [_pool(line, setup) for line in directives]

    async def stop(self) -> None:
        for pool in self.pools:
            for upstream in pool.upstreams:
                upstream.close()

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        pool = next((pool for pool in self.pools if pool.takes(request.name)), None)
        if pool is None:
            return await ahead(request)
        reply = await pool.ask(request)
        if reply.rcode in pool.options.next:
            return await ahead(request) or reply
        return reply


def _pool(line: Directive, setup: Setup) -> Pool:
    try:
        around = setup.around
        return Pool(parse(line, around.read_file), around.metrics, around.clock)
    except OSError as error:
        raise line.error(f"plugin/forward: certificates of 'tls' can't be read: {error}") from None


PLUGIN = Forward
