"""`loop`: finds out at the start whether questions that are forwarded come back to this server, and then
ends it.

Such a loop would feed on itself until the machine has no memory left. A question nobody else can ask is
sent upstream; if it arrives here, there is a loop.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence

import structlog

from fairway.dns import names, wire
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.plugins.forward import Forward
from fairway.dns.plugins.forward.upstream import Upstream, UpstreamError
from fairway.dns.wire import Query, Reply
from fairway.dns.zone.zone import Zone

log = structlog.get_logger()
_GIVE_UP = 30.0
_PAUSE = 2.0


class LoopError(Exception):
    """Questions go round in a circle."""


class Loop(Plugin):
    name = "loop"
    same_for_all = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        directives[0].none()
        zone = setup.zones[0]
        self._name = names.join((b"%d" % secrets.randbits(60), b"%d" % secrets.randbits(60))) + zone
        self._done = False
        self._task: asyncio.Task[None] | None = None

    def passes(self, zone: Zone) -> bool:
        return True

    async def start(self) -> None:
        self._task = asyncio.create_task(self._send())

    async def stop(self) -> None:
        if self._task:
            self._task.cancel()

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        if not self._done and request.query.type == wire.HINFO and request.name == self._name:
            self._done = True
            zone = names.to_text(self.setup.zones[0])
            self.setup.around.fail(
                LoopError(f"plugin/loop: Loop ({request.client}) detected for zone {zone}")
            )
            return Reply(wire.SERVFAIL)
        return await ahead(request)

    async def _send(self) -> None:
        """Asks every upstream the odd question; those that don't answer at once are tried again for a
        while."""
        forward = self.setup.plugins.get("forward")
        if isinstance(forward, Forward):
            pending = [upstream for pool in forward.pools for upstream in pool.upstreams]
            for _ in range(int(_GIVE_UP / _PAUSE)):
                pending = [upstream for upstream in pending if not await self._asked(upstream)]
                if not pending:
                    break
                await asyncio.sleep(_PAUSE)
        self._done = True

    async def _asked(self, upstream: Upstream) -> bool:
        query = Query(secrets.randbits(16), self._name, wire.HINFO)
        try:
            await (upstream.over_tcp(query) if upstream.secure else upstream.over_udp(query))
        except UpstreamError:
            return False
        return True


PLUGIN = Loop
