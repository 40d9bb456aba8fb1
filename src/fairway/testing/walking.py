"""The way of a packet through one node's hooks and chains, common to nftables and iptables.

What a rule says is for the language it is written in; how chains call one another, and which hook comes after
which, is the kernel's and is here.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from fairway.testing.ip_sets import IpSet
from fairway.testing.tracing import Chooser, Hit, Memory, Packet, Trace, UnknownRule, Verdict

C = TypeVar("C")
_DEEPEST = 16


class Step(enum.StrEnum):
    """What comes after a rule."""

    CONTINUE = "continue"
    JUMP = "jump"
    GOTO = "goto"
    RETURN = "return"
    ACCEPT = "accept"
    DROP = "drop"
    REJECT = "reject"
    STOLEN = "stolen"
    """By a part of the kernel that sends the packet on its way anew."""


@dataclass(frozen=True, slots=True)
class Next:
    step: Step
    chain: str = ""

    @property
    def is_final(self) -> bool:
        return self.step in (Step.ACCEPT, Step.DROP, Step.REJECT, Step.STOLEN)


GO_ON, ACCEPTED = Next(Step.CONTINUE), Next(Step.ACCEPT)
_VERDICTS = {Step.DROP: Verdict.DROPPED, Step.REJECT: Verdict.REFUSED}


class NoMatch(Exception):
    """The rule doesn't apply to this packet."""


class Passage:
    """The packet on its way through a node, with all that rules may read and change."""

    def __init__(
        self,
        packet: Packet,
        local: Container[str],
        chooser: Chooser,
        memory: Memory,
        sets: Mapping[str, IpSet] | None = None,
    ) -> None:
        self.packet = self.original = packet
        self.local, self.chooser, self.sets = local, chooser, sets or {}
        self.mark, self.connection_mark, self.priority = 0, 0, "0:0"
        self.translated = self.masqueraded = self.is_reply = False
        self.memory = {owner: dict(entries) for owner, entries in memory.items()}
        self.hits: list[Hit] = []

    def trace(self, verdict: Verdict) -> Trace:
        return Trace(
            verdict, self.packet, self.translated, self.masqueraded, tuple(self.hits), memory=self.memory
        )


class Walk(abc.ABC, Generic[C]):
    """One way through all hooks. `C` is what a chain is known by."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage

    @abc.abstractmethod
    def base_chains(self, hook: str) -> Sequence[C]:
        """In the order in which the kernel asks them."""

    @abc.abstractmethod
    def rules(self, chain: C) -> Sequence[str] | None:
        """None if there is no such chain."""

    @abc.abstractmethod
    def carry_out(self, chain: C, rule: str) -> Next:
        """Change the passage as the rule says; raises `NoMatch` if the rule doesn't apply."""

    @abc.abstractmethod
    def beside(self, chain: C, name: str) -> C:
        """The chain of that name in the same table."""

    def trace(self) -> Trace:
        for hook in self.hooks():
            for chain in self.base_chains(hook):
                after = self.pass_through(chain)
                if after.step in _VERDICTS:
                    return self.passage.trace(_VERDICTS[after.step])
                if after.step is Step.STOLEN:
                    break
        return self.passage.trace(Verdict.PASSED)

    def hooks(self) -> Iterator[str]:
        """Where to is decided after the first of them, so it is asked for one at a time.

        What a node sends to itself comes back by loopback, where nat, which looks at a connection only once,
        has had its turn.
        """
        if self.passage.packet.own:
            yield "output"
            yield "postrouting"
            if self.is_for_the_node:
                yield "come back"
                yield "input"
        else:
            yield "prerouting"
            if self.is_for_the_node:
                yield "input"
                return
            yield "forward"
            yield "postrouting"

    @property
    def is_for_the_node(self) -> bool:
        return self.passage.packet.destination in self.passage.local

    def pass_through(self, chain: C, depth: int = 0) -> Next:
        rules = self.rules(chain)
        if rules is None or depth > _DEEPEST:
            raise UnknownRule(f"no way to chain {chain}")
        for rule in rules:
            after = self._rule(chain, rule)
            if after.is_final:
                return after
            if after.step is Step.RETURN:
                return GO_ON
            if after.step in (Step.JUMP, Step.GOTO):
                beyond = self.pass_through(self.beside(chain, after.chain), depth + 1)
                if beyond.is_final or after.step is Step.GOTO:
                    return beyond
        return GO_ON

    def _rule(self, chain: C, rule: str) -> Next:
        try:
            after = self.carry_out(chain, rule)
        except NoMatch:
            return GO_ON
        name = " ".join(chain) if isinstance(chain, tuple) else str(chain)
        self.passage.hits.append(Hit(name, rule))
        return after
