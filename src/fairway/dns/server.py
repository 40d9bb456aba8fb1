"""The running server: the chains of the Corefile in force, the sockets they need, and the change to a new
Corefile.

What to answer is the chains' affair (`responder`), how bytes travel is `listeners`'. The sockets stay open
over a change.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from fairway.dns.chain import Chain, build
from fairway.dns.corefile import Block
from fairway.dns.listeners import TcpListener, UdpListener
from fairway.dns.plugin import Plugin, Surroundings
from fairway.dns.plugins.bind import Bind
from fairway.dns.plugins.kubernetes import Kubernetes
from fairway.dns.responder import Responder
from fairway.kernel.local_addresses import local_addresses

log = structlog.get_logger()
_EVERYWHERE = ("0.0.0.0", "::")

Place = tuple[str, int]


@dataclass(frozen=True)
class Site:
    """One Corefile, set up: its chains and who answers at which address and port."""

    blocks: tuple[Block, ...]
    chains: tuple[Chain, ...]
    responders: dict[Place, Responder]

    def not_ready(self) -> list[str]:
        return sorted({p.name for chain in self.chains for p in chain.plugins if not p.ready()})


class Server:
    def __init__(
        self, read: Callable[[], tuple[Block, ...]], around: Surroundings, bind: tuple[str, ...], port: int
    ) -> None:
        self._read = read
        self._around = around
        self._bind = bind or _everywhere()
        self._port = port
        self._site = Site((), (), {})
        self._sockets: dict[Place, tuple[UdpListener, TcpListener]] = {}

    async def start(self) -> None:
        """Serves the Corefile; raises if it is wrong or its addresses can't be had."""
        await self._serve(self._prepare(self._read()))

    async def reload(self) -> bool:
        """Serves the Corefile as it is now, if it changed; a wrong one leaves everything as it was."""
        try:
            blocks = self._read()
            if blocks == self._site.blocks:
                return False
            old = self._site
            await self._serve(self._prepare(blocks))
        except Exception as error:
            # Whatever is wrong with the new one, there is a good one in force.
            log.error("corefile not reloaded", error=str(error))
            return False
        await _stop(old)
        log.info("corefile reloaded")
        return True

    async def stop(self) -> None:
        """Ends in an orderly way: plugins may ask for a while in which questions are still answered."""
        plugins = [plugin for chain in self._site.chains for plugin in chain.plugins]
        await asyncio.gather(*(plugin.before_end() for plugin in plugins))
        self.close()
        await _stop(self._site)

    def close(self) -> None:
        for place in list(self._sockets):
            self._close(place)

    def not_ready(self) -> Sequence[str]:
        return self._site.not_ready()

    @property
    def places(self) -> list[Place]:
        return list(self._sockets)

    # ---- putting a Corefile into force -----------------------------------------------------------------

    def _prepare(self, blocks: tuple[Block, ...]) -> Site:
        chains = build(blocks, self._around, self._port)
        by_place: dict[Place, list[Chain]] = {}
        for chain in chains:
            hosts = self._hosts(chain)
            for host in hosts:
                by_place.setdefault((host, chain.port), []).append(chain)
            for plugin in chain.plugins:
                if isinstance(plugin, Kubernetes):
                    plugin.zone.addresses = _own_addresses(hosts)
        metrics = self._around.metrics
        return Site(blocks, chains, {place: Responder(found, metrics) for place, found in by_place.items()})

    def _hosts(self, chain: Chain) -> tuple[str, ...]:
        bind = chain.plugin("bind")
        return bind.addresses if isinstance(bind, Bind) else self._bind

    async def _serve(self, site: Site) -> None:
        """Opens what is missing and starts the plugins; if anything of that fails, all is undone."""
        opened: list[Place] = []
        started: list[Plugin] = []
        try:
            for place in site.responders:
                if place not in self._sockets:
                    self._sockets[place] = await self._open(place)
                    opened.append(place)
            for chain in site.chains:
                for plugin in chain.plugins:
                    started.append(plugin)
                    await plugin.start()
        except Exception:
            for place in opened:
                self._close(place)
            for plugin in started:
                await plugin.stop()
            raise
        self._site = site
        for place in [place for place in self._sockets if place not in site.responders]:
            self._close(place)

    async def _open(self, place: Place) -> tuple[UdpListener, TcpListener]:
        current = partial(self._responder, place)
        udp = UdpListener.open(*place, current)
        try:
            return udp, await TcpListener.open(*place, current)
        except OSError:
            udp.close()
            raise

    def _close(self, place: Place) -> None:
        for listener in self._sockets.pop(place):
            listener.close()

    def _responder(self, place: Place) -> Responder:
        found = self._site.responders.get(place)
        return found if found is not None else Responder((), self._around.metrics)


def _everywhere() -> tuple[str, ...]:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return _EVERYWHERE[:1]
    return _EVERYWHERE


def _own_addresses(hosts: Sequence[str]) -> tuple[bytes, ...]:
    """Where others can reach the server; loopback counts only if there is nothing else."""
    texts = sorted(local_addresses()) if set(hosts) & set(_EVERYWHERE) else hosts
    found = [ipaddress.ip_address(text) for text in texts]
    reachable = [a for a in found if not (a.is_loopback or a.is_link_local)]
    return tuple(address.packed for address in reachable or found)


async def _stop(site: Site) -> None:
    for chain in site.chains:
        for plugin in chain.plugins:
            await plugin.stop()
