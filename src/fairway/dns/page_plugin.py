"""What the plugins with an HTTP page have in common: `NAME [ADDRESS]`, and a page there while they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from fairway.dns.arguments import host_port
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Plugin, Setup


class PagePlugin(Plugin):
    path: ClassVar[str]
    address: ClassVar[str]
    """Where the page is if the directive names no address."""

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        line = directives[0]
        if len(line.args) > 1:
            raise line.wrong_arguments()
        _, default = host_port(line, self.address, 0)
        self._at = host_port(line, line.args[0] if line.args else self.address, default)
        for inner in line.body:
            self.option(inner)

    def option(self, line: Directive) -> None:
        raise line.unknown_property(self.name)

    def page(self) -> tuple[int, str]:
        """Status and text."""
        raise NotImplementedError

    async def start(self) -> None:
        await self.setup.around.pages.put(*self._at, self.path, self.page)

    async def stop(self) -> None:
        await self.setup.around.pages.take(*self._at, self.path, self.page)
