"""`ready [ADDRESS]`: HTTP /ready says OK once every plugin is, and keeps saying so."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.dns.arguments import host_port
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Plugin, Setup

_PORT = 8181


class Ready(Plugin):
    name = "ready"

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        line = directives[0]
        if len(line.args) > 1:
            raise line.wrong_arguments()
        self._at = host_port(line, line.args[0] if line.args else f":{_PORT}", _PORT)
        self._was_ready = False

    async def start(self) -> None:
        await self.setup.around.pages.put(*self._at, "/ready", self._page)

    async def stop(self) -> None:
        await self.setup.around.pages.take(*self._at, "/ready", self._page)

    def _page(self) -> tuple[int, str]:
        # An API server that goes away later does not make the answers we have worthless.
        missing = [] if self._was_ready else self.setup.around.not_ready()
        self._was_ready = not missing
        return (503, ",".join(missing)) if missing else (200, "OK")


PLUGIN = Ready
