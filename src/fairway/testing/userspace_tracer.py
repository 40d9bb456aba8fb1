"""Follows a packet through userspace mode: by nftables to the relay, and with the relay to an endpoint.

The relay opens a connection of its own, which goes through the same rules as one of the node's. In whose name
is up to the relay: in the node's it counts as masqueraded; in the client's, its answers must be kept here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from fairway.proxy.model import family_of
from fairway.proxy.userspace.balancer import Balancer
from fairway.proxy.userspace.messages import RANGE_V4, RANGE_V6, Backend, Bound, Listener
from fairway.proxy.userspace.ruleset import TRANSPARENT_MARK
from fairway.testing.ip_sets import within
from fairway.testing.nftables_tracer import NftablesWalk, Tables
from fairway.testing.tracing import Chooser, Hit, Memory, Packet, Trace, Verdict, explore
from fairway.testing.walking import Passage

_CHAIN = "relay"


@dataclass(frozen=True, slots=True)
class UserspaceTracer:
    """`served`: what the relay listens for, and where; `local` are the node's own addresses."""

    tables: Tables
    served: Collection[tuple[Listener, Bound]]
    local: Collection[str]

    def trace(self, packet: Packet, memory: Memory | None = None) -> list[Trace]:
        """Every way the packet can go; `memory` is what earlier packets have written down."""
        return list(explore(lambda chooser: self._way(packet, chooser, memory or {})))

    def _way(self, packet: Packet, chooser: Chooser, memory: Memory) -> Trace:
        passage = Passage(packet, _Local(self.local), chooser, memory)
        trace = NftablesWalk(self.tables, passage).trace()
        if trace.verdict is not Verdict.PASSED or not _is_relays(trace.packet.destination):
            return trace
        return self._relay(trace, passage)

    def _relay(self, trace: Trace, passage: Passage) -> Trace:
        """Where nobody listens, the node refuses; and so does, in effect, a relay without backends."""
        listener = self._listener(trace.packet)
        if listener is None or not listener.backends:
            return replace(trace, verdict=Verdict.REFUSED)
        client = trace.packet.source
        backend = _choose(listener, client, passage)
        shown = _balancer(listener).shows(client, backend)
        source = client if shown else self._own_address(backend.address)
        own = Packet(source, backend.address, trace.packet.protocol, backend.port, own=True)
        onward = self._send(own, passage)
        return replace(
            onward,
            translated=True,
            masqueraded=not shown or onward.masqueraded,
            hits=(*trace.hits, Hit(_CHAIN, _line(listener)), *onward.hits),
        )

    def _send(self, own: Packet, before: Passage) -> Trace:
        """Answers must come back to the relay even if they are not for an address of the node."""
        onward = Passage(own, _Local(self.local), before.chooser, before.memory)
        trace = NftablesWalk(self.tables, onward).trace()
        answer = Passage(Packet(own.destination, own.source, own.protocol), onward.local, before.chooser, {})
        answer.is_reply, answer.connection_mark = True, onward.connection_mark
        _Answer(self.tables, answer).trace()
        is_kept = own.source in onward.local or answer.mark & TRANSPARENT_MARK
        return trace if is_kept else replace(trace, verdict=Verdict.DROPPED)

    def _listener(self, packet: Packet) -> Listener | None:
        for listener, bound in self.served:
            protocol = "udp" if listener.udp else "tcp"
            if (*bound, protocol) == (packet.destination, packet.port, packet.protocol):
                return listener
        return None

    def _own_address(self, peer: str) -> str:
        """Any of them: which one leads to the endpoint is known to routes alone, and rules don't ask."""
        return min(
            address
            for address in self.local
            if family_of(address) is family_of(peer) and not ipaddress.ip_address(address).is_loopback
        )


class _Answer(NftablesWalk):
    """As far as routing, which is where it is decided who gets it."""

    def hooks(self) -> Iterator[str]:
        yield "come back"


class _Local:
    """The node's own addresses, and those that it keeps for relays, which no device has."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self._addresses = frozenset(addresses)

    def __contains__(self, address: object) -> bool:
        return address in self._addresses or _is_relays(str(address))


def _is_relays(address: str) -> bool:
    return within(address, RANGE_V6 if ":" in address else RANGE_V4)


def _choose(listener: Listener, client: str, passage: Passage) -> Backend:
    """Whose turn it is depends on who came before: it may be anybody's, but for a client that is tied."""
    ties = passage.memory.setdefault((_CHAIN, listener.key), {}) if listener.affinity_seconds else {}
    for backend in listener.backends:
        if str(backend) == ties.get(client):
            return backend
    count = len(listener.backends)
    backend = listener.backends[passage.chooser.choose([Fraction(1, count)] * count)]
    ties[client] = str(backend)
    return backend


def _balancer(listener: Listener) -> Balancer:
    """The relay's own, for what it decides by a client's address."""
    balancer = Balancer(lambda: 0.0)
    balancer.update(listener.backends, listener.affinity_seconds, listener.inside)
    return balancer


def _line(listener: Listener) -> str:
    tie = f", a client stays for {listener.affinity_seconds} s" if listener.affinity_seconds else ""
    return f"{listener.key} in turn{tie}"
