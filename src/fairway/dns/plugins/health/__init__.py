"""`health [ADDRESS] { lameduck DURATION }`: HTTP /health says OK while the process lives.

With `lameduck` the server keeps answering questions for that long after it was told to stop, so that
balancers notice.
"""

from __future__ import annotations

import asyncio

from fairway.dns.arguments import duration
from fairway.dns.corefile import Directive
from fairway.dns.page_plugin import PagePlugin


class Health(PagePlugin):
    name = "health"
    path = "/health"
    address = ":8080"
    lameduck = 0.0
    leaving = False

    def option(self, line: Directive) -> None:
        if line.name != "lameduck":
            raise line.unknown_property(self.name)
        self.lameduck = duration(line, line.one())

    async def before_end(self) -> None:
        self.leaving = True
        await asyncio.sleep(self.lameduck)

    def page(self) -> tuple[int, str]:
        return (503, "leaving") if self.leaving else (200, "OK")


PLUGIN = Health
