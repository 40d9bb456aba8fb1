"""Follows a packet through iptables: the kernel's chains in their order, and ours from there.

Works on the state of the fake kernel, that is, on the very text that `iptables-restore` was given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from fairway.proxy.model import Family
from fairway.testing.iptables_rules import carry_out
from fairway.testing.tracing import Memory, Packet, Trace, explore
from fairway.testing.walking import Next, Passage, Walk

# Table and chain.
Chain = tuple[str, str]
# In the order in which the kernel asks them at each hook.
HOOKS: dict[str, tuple[Chain, ...]] = {
    "prerouting": (("mangle", "PREROUTING"), ("nat", "PREROUTING")),
    "come back": (("mangle", "PREROUTING"),),
    "input": (("mangle", "INPUT"), ("filter", "INPUT"), ("nat", "INPUT")),
    "forward": (("mangle", "FORWARD"), ("filter", "FORWARD")),
    "output": (("mangle", "OUTPUT"), ("nat", "OUTPUT"), ("filter", "OUTPUT")),
    "postrouting": (("mangle", "POSTROUTING"), ("nat", "POSTROUTING")),
}
Tables = Mapping[tuple[int, str], Mapping[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class IptablesTracer:
    """`tables` by IP version and name; `local` are the node's own addresses."""

    tables: Tables
    local: Collection[str]

    def trace(self, packet: Packet, memory: Memory | None = None) -> list[Trace]:
        """Every way the packet can go; `memory` is what earlier packets have written down."""
        return list(
            explore(
                lambda chooser: IptablesWalk(
                    self.tables, Passage(packet, self.local, chooser, memory or {})
                ).trace()
            )
        )


class IptablesWalk(Walk[Chain]):
    def __init__(self, tables: Tables, passage: Passage) -> None:
        super().__init__(passage)
        self._tables = tables
        self._version = 4 if passage.packet.family is Family.IPV4 else 6

    def base_chains(self, hook: str) -> list[Chain]:
        return [chain for chain in HOOKS[hook] if (self._version, chain[0]) in self._tables]

    def rules(self, chain: Chain) -> Sequence[str] | None:
        return self._tables[self._version, chain[0]].get(chain[1])

    def beside(self, chain: Chain, name: str) -> Chain:
        return chain[0], name

    def carry_out(self, chain: Chain, rule: str) -> Next:
        return carry_out(rule, self.passage)
