"""`prometheus [ADDRESS]`: HTTP /metrics."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.dns.arguments import host_port
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Plugin, Setup

_HOST, _PORT = "localhost", 9153


class Prometheus(Plugin):
    name = "prometheus"

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        line = directives[0]
        if len(line.args) > 1:
            raise line.wrong_arguments()
        self._at = host_port(line, line.args[0] if line.args else f"{_HOST}:{_PORT}", _PORT)

    async def start(self) -> None:
        await self.setup.around.pages.put(*self._at, "/metrics", self._page)

    async def stop(self) -> None:
        await self.setup.around.pages.take(*self._at, "/metrics", self._page)

    def _page(self) -> tuple[int, str]:
        return 200, self.setup.around.metrics.text()


PLUGIN = Prometheus
