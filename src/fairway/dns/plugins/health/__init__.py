"""`health [ADDRESS] { lameduck DURATION }`: HTTP /health says OK while the process lives.

With `lameduck` the server keeps answering questions for that long after it was told to stop, so that
balancers notice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fairway.dns.arguments import duration, host_port
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Plugin, Setup

_PORT = 8080


class Health(Plugin):
    name = "health"

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        line = directives[0]
        if len(line.args) > 1:
            raise line.wrong_arguments()
        self._at = host_port(line, line.args[0] if line.args else f":{_PORT}", _PORT)
        self._lameduck = 0.0
        self._leaving = False
        for inner in line.body:
            if inner.name != "lameduck":
                raise inner.unknown_property("health")
            self._lameduck = duration(inner, inner.one())

    async def start(self) -> None:
        await self.setup.around.pages.put(*self._at, "/health", self._page)

    async def before_end(self) -> None:
        self._leaving = True
        await asyncio.sleep(self._lameduck)

    async def stop(self) -> None:
        await self.setup.around.pages.take(*self._at, "/health", self._page)

    def _page(self) -> tuple[int, str]:
        return (503, "leaving") if self._leaving else (200, "OK")


PLUGIN = Health
