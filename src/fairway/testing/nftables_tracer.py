"""Follows a packet through nftables: base chains by hook and priority, jumps, maps and translation.

Works on the state of the fake kernel, that is, on the very text that was sent to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from fairway.kernel.fake_nftables import FakeTable
from fairway.testing.nft_rules import Sets, carry_out
from fairway.testing.tracing import Memory, Packet, Trace, explore
from fairway.testing.walking import Next, Passage, Walk

_PRIORITIES = {"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}
# Family, table and chain.
Chain = tuple[str, str, str]
Tables = Mapping[tuple[str, str], FakeTable]


@dataclass(frozen=True, slots=True)
class NftablesTracer:
    """`local` are the node's own addresses."""

    tables: Tables
    local: Collection[str]

    def trace(self, packet: Packet, memory: Memory | None = None) -> list[Trace]:
        """Every way the packet can go; `memory` is what earlier packets have written down."""
        return list(
            explore(
                lambda chooser: NftablesWalk(
                    self.tables, Passage(packet, self.local, chooser, memory or {})
                ).trace()
            )
        )


class NftablesWalk(Walk[Chain]):
    def __init__(self, tables: Tables, passage: Passage) -> None:
        super().__init__(passage)
        self._tables = tables

    def base_chains(self, hook: str) -> list[Chain]:
        found = []
        for (family, name), table in self._tables.items():
            if family not in (self.passage.packet.family, "inet"):
                continue
            for chain, text in table.hooks.items():
                words = text.rstrip(";").split()
                if _is_asked(words, hook):
                    found.append((_priority(words[words.index("priority") + 1 :]), (family, name, chain)))
        return [chain for _, chain in sorted(found)]

    def rules(self, chain: Chain) -> Sequence[str] | None:
        return self._tables[chain[:2]].chains.get(chain[2])

    def beside(self, chain: Chain, name: str) -> Chain:
        return (*chain[:2], name)

    def carry_out(self, chain: Chain, rule: str) -> Next:
        sets = Sets(chain[0], self._tables[chain[:2]].sets, self.passage.memory)
        return carry_out(rule, self.passage, sets)


def _is_asked(words: list[str], hook: str) -> bool:
    """Whether a base chain is; `type nat hook prerouting priority dstnat` by its words."""
    at = words[words.index("hook") + 1]
    return at == hook or (hook == "come back" and at == "prerouting" and "nat" not in words)


def _priority(words: list[str]) -> int:
    """`dstnat + 1`, `-100`"""
    base = _PRIORITIES.get(words[0])
    value = int(words[0]) if base is None else base
    if len(words) == 3:
        value += int(words[2]) if words[1] == "+" else -int(words[2])
    return value
