"""Follows a packet through nftables: base chains by hook and priority, jumps, maps and translation.

Works on the state of the fake kernel, that is, on the very text that was sent to it.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from fairway.kernel.fake_nftables import FakeTable
from fairway.testing.nft_expressions import Header, NoMatch
from fairway.testing.nft_rules import GO_ON, Next, Sets, Step, carry_out
from fairway.testing.tracing import Chooser, Hit, Memory, Packet, Trace, UnknownRule, Verdict, explore

_PRIORITIES = {"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}
_VERDICTS = {Step.DROP: Verdict.DROPPED, Step.REJECT: Verdict.REFUSED}
_DEEPEST = 16


@dataclass(frozen=True, slots=True)
class NftablesTracer:
    """`local` are the node's own addresses."""

    tables: Mapping[tuple[str, str], FakeTable]
    local: Collection[str]

    def trace(self, packet: Packet, memory: Memory | None = None) -> list[Trace]:
        """Every way the packet can go; `memory` is what earlier packets have written down."""
        return list(explore(lambda chooser: _Walk(self, packet, chooser, memory or {}).trace()))


class _Walk:
    """One way through all hooks."""

    def __init__(self, tracer: NftablesTracer, packet: Packet, chooser: Chooser, memory: Memory) -> None:
        self._tables, self._local = tracer.tables, tracer.local
        self._header = Header(packet, tracer.local, chooser)
        self._memory = {owner: dict(entries) for owner, entries in memory.items()}
        self._hits: list[Hit] = []

    def trace(self) -> Trace:
        for hook in self._hooks():
            after = self._pass(hook)
            if after in _VERDICTS:
                return self._result(_VERDICTS[after])
        return self._result(Verdict.PASSED)

    def _result(self, verdict: Verdict) -> Trace:
        header = self._header
        memory = copy.deepcopy(self._memory)
        return Trace(
            verdict, header.packet, header.translated, header.masqueraded, tuple(self._hits), memory=memory
        )

    def _hooks(self) -> Iterator[str]:
        """Where to is decided after the first of them, so it is asked for one at a time."""
        if self._header.packet.own:
            yield "output"
        else:
            yield "prerouting"
            if self._header.packet.destination in self._local:
                yield "input"
                return
            yield "forward"
        yield "postrouting"

    def _pass(self, hook: str) -> Step:
        for key, chain in self._base_chains(hook):
            after = self._chain(key, chain)
            if after.step in _VERDICTS:
                return after.step
        return Step.ACCEPT

    def _base_chains(self, hook: str) -> list[tuple[tuple[str, str], str]]:
        found = []
        for key, table in self._tables.items():
            if key[0] not in (self._header.packet.family, "inet"):
                continue
            for chain, text in table.hooks.items():
                words = text.rstrip(";").split()
                if words[words.index("hook") + 1] == hook:
                    found.append((_priority(words[words.index("priority") + 1 :]), key, chain))
        return [(key, chain) for _, key, chain in sorted(found)]

    def _chain(self, key: tuple[str, str], name: str, depth: int = 0) -> Next:
        table = self._tables[key]
        if name not in table.chains or depth > _DEEPEST:
            raise UnknownRule(f"no way to chain {name}")
        for rule in table.chains[name]:
            after = self._rule(key, name, rule)
            if after.is_final:
                return after
            if after.step is Step.RETURN:
                return GO_ON
            if after.step in (Step.JUMP, Step.GOTO):
                beyond = self._chain(key, after.chain, depth + 1)
                if beyond.is_final or after.step is Step.GOTO:
                    return beyond
        return GO_ON

    def _rule(self, key: tuple[str, str], chain: str, rule: str) -> Next:
        written = {name: entries for (owner, name), entries in self._memory.items() if owner == key[0]}
        try:
            after = carry_out(rule, self._header, Sets(self._tables[key].sets, written))
        except NoMatch:
            return GO_ON
        finally:
            self._memory.update({(key[0], name): entries for name, entries in written.items()})
        self._hits.append(Hit(f"{key[0]} {key[1]} {chain}", rule))
        return after


def _priority(words: list[str]) -> int:
    """`dstnat + 1`, `-100`"""
    base = _PRIORITIES.get(words[0])
    value = int(words[0]) if base is None else base
    if len(words) == 3:
        value += int(words[2]) if words[1] == "+" else -int(words[2])
    return value
