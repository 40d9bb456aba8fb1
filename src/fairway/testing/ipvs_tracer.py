"""Follows a packet through ipvs mode: iptables with its sets, and the virtual servers in between.

IPVS has hooks of its own. What comes from elsewhere to an address of the node meets it after the filter's
INPUT; what the node sends meets it in OUTPUT, between nat and filter. Whatever it serves begins anew at
OUTPUT, where nat, which looks at a connection only once, has had its turn. Works on the state of the fakes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from fairway.kernel.ipvs import HASH_PORTS, Balancing, ServerName, Target, VirtualServer
from fairway.testing.ip_sets import IpSet
from fairway.testing.iptables_tracer import HOOKS, Chain, IptablesWalk, Tables
from fairway.testing.tracing import Hit, Memory, Packet, Trace, UnknownRule, Verdict, explore
from fairway.testing.walking import ACCEPTED, GO_ON, Next, Passage, Step

_IPVS = "ipvs"
# As for iptables alone, with IPVS in its place, and a hook for what IPVS sends.
_HOOKS = HOOKS | {
    "input": (("mangle", "INPUT"), ("filter", "INPUT"), (_IPVS, "INPUT"), ("nat", "INPUT")),
    "output": (("mangle", "OUTPUT"), ("nat", "OUTPUT"), (_IPVS, "OUTPUT"), ("filter", "OUTPUT")),
    "sent anew": (("mangle", "OUTPUT"), ("filter", "OUTPUT")),
}
_PROTOCOLS = ("tcp", "udp", "sctp")
_ALL_ALIKE, _BY_WEIGHT, _BY_CLIENT = ("rr", "lc"), ("wrr", "wlc", "sed"), ("sh", "mh")


@dataclass(frozen=True, slots=True)
class IpvsTracer:
    """`tables` by IP version and name; `sets` and `servers` by name; `held` are the addresses of the device
    for virtual IPs, `local` the node's other ones.
    """

    tables: Tables
    sets: Mapping[str, IpSet]
    servers: Mapping[ServerName, VirtualServer]
    held: Collection[str]
    local: Collection[str]

    def trace(self, packet: Packet, memory: Memory | None = None) -> list[Trace]:
        """Every way the packet can go; `memory` is what earlier packets have written down."""
        local = frozenset(self.held) | frozenset(self.local)
        if packet.own and packet.destination in local:
            # Unless told otherwise, a process talks to its node's addresses from those very addresses.
            packet = replace(packet, source=packet.destination)
        return list(
            explore(
                lambda chooser: _Walk(self, Passage(packet, local, chooser, memory or {}, self.sets)).trace()
            )
        )


class _Walk(IptablesWalk):
    def __init__(self, node: IpvsTracer, passage: Passage) -> None:
        super().__init__(node.tables, passage)
        self._node = node

    def trace(self) -> Trace:
        """Who reaches a virtual IP that nobody serves or refuses is with the node itself, which answers."""
        trace = super().trace()
        unserved = not trace.translated and trace.packet.destination in self._node.held
        return replace(trace, verdict=Verdict.ANSWERED) if unserved and _is_passed(trace) else trace

    def hooks(self) -> Iterator[str]:
        for hook in super().hooks():
            yield hook
            if self._is_sent_anew:
                yield "sent anew"
                yield "postrouting"
                return

    @property
    def _is_sent_anew(self) -> bool:
        """A real server on the node itself gets what is meant for it without further ado."""
        return self.passage.translated and not self.is_for_the_node

    def base_chains(self, hook: str) -> list[Chain]:
        known = {table for version, table in self._tables if version == self._version} | {_IPVS}
        return [chain for chain in _HOOKS[hook] if chain[0] in known]

    def pass_through(self, chain: Chain, depth: int = 0) -> Next:
        return self._serve(chain) if chain[0] == _IPVS else super().pass_through(chain, depth)

    def _serve(self, chain: Chain) -> Next:
        name = self._virtual_server()
        if name is None:
            return GO_ON
        server = self._node.servers[name]
        self.passage.hits.append(Hit(" ".join(chain), _line(name, server.balancing)))
        target = self._choose(name, server)
        if target is None:
            return Next(Step.REJECT)
        # The kernel doesn't translate the port where a server for a mark ties clients.
        keeps_port = name.mark and server.balancing.persistence
        port = self.passage.packet.port if keeps_port else target.port
        self.passage.packet = self.passage.packet.to(target.address, port)
        self.passage.translated = True
        return Next(Step.STOLEN) if self._is_sent_anew else ACCEPTED

    def _virtual_server(self) -> ServerName | None:
        """By the whole mark first, and then by address and port."""
        packet, mark = self.passage.packet, self.passage.mark
        if packet.protocol not in _PROTOCOLS or self.passage.translated:
            return None
        marked = ServerName(self._version, "", "", 0, mark)
        plain = ServerName(self._version, packet.protocol, packet.destination, packet.port)
        return next((name for name in (marked, plain) if name in self._node.servers), None)

    def _choose(self, name: ServerName, server: VirtualServer) -> Target | None:
        """None if no real server may get new connections."""
        weights = {target: load.weight for target, load in server.targets.items() if load.weight > 0}
        if not weights or not _ties(server.balancing):
            return self._turn(weights, server.balancing)
        ties = self.passage.memory.setdefault((str(self.passage.packet.family), str(name)), {})
        by_text = {str(target): target for target in weights}
        client = self.passage.packet.source
        target = by_text.get(ties.get(client, "")) or self._turn(weights, server.balancing)
        ties[client] = str(target)
        return target

    def _turn(self, weights: Mapping[Target, int], balancing: Balancing) -> Target | None:
        """Whose turn it is depends on what came before: it may be anybody's."""
        if balancing.scheduler not in _ALL_ALIKE + _BY_WEIGHT + _BY_CLIENT:
            raise UnknownRule(f"scheduler {balancing.scheduler}")
        if not weights:
            return None
        parts = [1 if balancing.scheduler in _ALL_ALIKE else weight for weight in weights.values()]
        chosen = self.passage.chooser.choose([Fraction(part, sum(parts)) for part in parts])
        return list(weights)[chosen]


def _ties(balancing: Balancing) -> bool:
    """Whether a client stays with its real server, by its address alone."""
    hashes_clients = balancing.scheduler in _BY_CLIENT and not balancing.flags & HASH_PORTS
    return balancing.persistence > 0 or hashes_clients


def _line(name: ServerName, balancing: Balancing) -> str:
    tie = f" persistent {balancing.persistence}" if balancing.persistence else ""
    return f"{name} {balancing.scheduler}{tie}"


def _is_passed(trace: Trace) -> bool:
    return trace.verdict is Verdict.PASSED
