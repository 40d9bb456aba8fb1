"""From server blocks to chains of plugins: which zones, which port, which links, in which order.

Everything that can be wrong with a Corefile is found here or in the plugins, before anything is served.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fairway.dns import names
from fairway.dns.arguments import zone_or_network
from fairway.dns.corefile import Block, Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup, Surroundings
from fairway.dns.plugins import ORDER, load
from fairway.dns.wire import Reply

DEFAULT_PORT = 53
_UNSERVED = ("tls://", "https://", "https3://", "grpc://", "quic://")


@dataclass(frozen=True)
class Chain:
    """One server block, ready to be asked."""

    zones: tuple[bytes, ...]
    port: int
    plugins: tuple[Plugin, ...]
    first: Handler

    async def serve(self, request: Request) -> Reply | None:
        return await self.first(request)

    def plugin(self, name: str) -> Plugin | None:
        return next((plugin for plugin in self.plugins if plugin.name == name), None)


def build(
    blocks: Sequence[Block], around: Surroundings, default_port: int = DEFAULT_PORT
) -> tuple[Chain, ...]:
    """All chains of a Corefile. A block whose zones have different ports makes one chain a port."""
    taken: dict[tuple[bytes, int], str] = {}
    chains = []
    for block in blocks:
        by_port: dict[int, list[bytes]] = {}
        for key in block.keys:
            for zone, port in _key(block, key, default_port):
                by_port.setdefault(port, []).append(zone)
        for port, zones in by_port.items():
            chain = _chain(block, tuple(dict.fromkeys(zones)), port, around)
            for address in _addresses(chain):
                _claim(block, chain, address, taken)
            chains.append(chain)
    return tuple(chains)


def _addresses(chain: Chain) -> tuple[str, ...]:
    bind = chain.plugin("bind")
    return tuple(getattr(bind, "addresses", ())) or ("",)


def _claim(block: Block, chain: Chain, address: str, taken: dict[tuple[bytes, int], str]) -> None:
    for zone in chain.zones:
        where = (address.encode() + b" " + zone, chain.port)
        if where in taken:
            text = names.to_text(zone)
            raise block.error(f"cannot serve dns://{text}:{chain.port} - it is already defined")
        taken[where] = block.file


def _key(block: Block, key: str, default_port: int) -> list[tuple[bytes, int]]:
    """`.`, `example.org:1053`, `dns://.:53`, `10.0.0.0/24` as zones with a port."""
    line = Directive(key, (), (), block.file, block.line)
    if key.startswith(_UNSERVED):
        raise line.error(f"'{key}': only plain DNS is served")
    rest = key.removeprefix("dns://")
    text, colon, digits = rest.rpartition(":")
    port = default_port
    if colon and digits.isdigit():
        rest, port = text, int(digits)
    elif colon:
        raise line.error(f"'{key}' is no zone with a port")
    if port > 65535:
        raise line.error(f"'{key}': there is no port {port}")
    return [(zone, port) for zone in zone_or_network(line, rest or ".")]


def _chain(block: Block, zones: tuple[bytes, ...], port: int, around: Surroundings) -> Chain:
    for directive in block.directives:
        if directive.name not in ORDER:
            raise directive.error(f"Unknown directive '{directive.name}'")
    setup = Setup(block, zones, port, around)
    for name in ORDER:
        directives = [directive for directive in block.directives if directive.name == name]
        if directives:
            setup.plugins[name] = _plugin(name, directives, setup)
    plugins = tuple(setup.plugins.values())
    return Chain(zones, port, plugins, _link(plugins))


def _plugin(name: str, directives: Sequence[Directive], setup: Setup) -> Plugin:
    made = load(name)
    if len(directives) > 1 and not made.repeats:
        message = f"plugin/{name}: this plugin can only be used once per Server Block"
        raise directives[1].error(message)
    return made(directives, setup)


async def _nobody(request: Request) -> Reply | None:
    return None


def _link(plugins: Sequence[Plugin]) -> Handler:
    handler: Handler = _nobody
    for plugin in reversed(plugins):
        # Plugins that only do things at the side would cost every question a call.
        if type(plugin).serve is not Plugin.serve:
            handler = partial(plugin.serve, ahead=handler)
    return handler
