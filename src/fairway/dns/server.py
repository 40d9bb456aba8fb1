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
from fairway.dns.handover import Place, Sockets
from fairway.dns.listeners import TcpListener, UdpListener, bound_socket
from fairway.dns.metrics import server_label
from fairway.dns.plugin import Plugin, Surroundings
from fairway.dns.plugins.bind import Bind
from fairway.dns.plugins.kubernetes import Kubernetes
from fairway.dns.responder import Responder
from fairway.kernel.local_addresses import local_addresses

log = structlog.get_logger()
_EVERYWHERE = ("0.0.0.0", "::")
_PATIENCE = 30.0


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
        self._inherited: Sockets = {}
        self._reading = False

    async def start(self, inherited: Sockets | None = None) -> None:
        """Serves the Corefile; raises if it is wrong or its addresses can't be had. With sockets of a
        predecessor nothing is read before `read`."""
        self._inherited = inherited or {}
        self._reading = inherited is None
        await self._serve(self._prepare(self._read()))

    async def read(self) -> None:
        """Begins to read from all sockets, if that was put off."""
        if not self._reading:
            self._reading = True
            for pair in self._sockets.values():
                await _start(pair)

    def sockets(self) -> Sockets:
        return {place: (udp.socket, tcp.socket) for place, (udp, tcp) in self._sockets.items()}

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
            self._around.metrics.reload_failures += 1
            return False
        await _stop(old)
        log.info("corefile reloaded")
        return True

    async def stop(self) -> None:
        """Ends in an orderly way: plugins may ask for a while in which questions are still answered."""
        plugins = [plugin for chain in self._site.chains for plugin in chain.plugins]
        await asyncio.gather(*(plugin.before_end() for plugin in plugins))
        await asyncio.gather(*(udp.finish() for udp, _ in self._sockets.values()))
        self.close()
        await _stop(self._site)

    async def retire(self) -> None:
        """Ends after a hand-over: others read from the sockets now, only what was read here is answered."""
        for udp, _ in self._sockets.values():
            udp.pause()
        pairs = list(self._sockets.values())
        await asyncio.gather(*(udp.settle() for udp, _ in pairs), *(tcp.finish() for _, tcp in pairs))
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
        responders = {
            place: Responder(found, metrics, server_label(*place)) for place, found in by_place.items()
        }
        return Site(blocks, chains, responders)

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
        await self._until_ready(site)
        self._site = site
        for place in [place for place in self._sockets if place not in site.responders]:
            self._close(place)

    async def _until_ready(self, site: Site) -> None:
        """A new Corefile takes over when it can answer as well as the old one."""
        deadline = asyncio.get_running_loop().time() + _PATIENCE
        while self._site.chains and not self._site.not_ready() and site.not_ready():
            if asyncio.get_running_loop().time() > deadline:
                log.warning("corefile in force before all is ready", plugins=site.not_ready())
                return
            await asyncio.sleep(0.01)

    async def _open(self, place: Place) -> tuple[UdpListener, TcpListener]:
        current = partial(self._responder, place)
        inherited = place in self._inherited
        datagrams, stream = self._inherited.pop(place) if inherited else _bound_pair(place)
        pair = UdpListener(datagrams, current), TcpListener(stream, current)
        if self._reading:
            await _start(pair)
        return pair

    def _close(self, place: Place) -> None:
        for listener in self._sockets.pop(place):
            listener.close()

    def _responder(self, place: Place) -> Responder:
        found = self._site.responders.get(place)
        return found if found is not None else Responder((), self._around.metrics)


def _bound_pair(place: Place) -> tuple[socket.socket, socket.socket]:
    datagrams = bound_socket(*place, socket.SOCK_DGRAM)
    try:
        return datagrams, bound_socket(*place, socket.SOCK_STREAM)
    except OSError:
        datagrams.close()
        raise


async def _start(pair: tuple[UdpListener, TcpListener]) -> None:
    await pair[1].start()
    pair[0].start()


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
