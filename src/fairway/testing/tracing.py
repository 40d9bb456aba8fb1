"""What a packet tracer is asked and what it answers, whatever language the rules are written in.

Rules that choose at random are followed every way they can go; each way is a `Trace` with its probability.
Pure: what a node has is handed in, and nothing is sent.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from fairway.proxy.model import Family, family_of


class UnknownRule(Exception):
    """A rule that this tracer can't read: it must be taught rather than guess."""


@dataclass(frozen=True, slots=True)
class Packet:
    """The first packet of a connection, as it arrives at a node or, with `own`, leaves a process of it."""

    source: str
    destination: str
    protocol: str
    port: int = 0
    own: bool = False
    interface: str = ""

    @property
    def family(self) -> Family:
        return family_of(self.destination)

    def to(self, destination: str, port: int) -> Packet:
        return replace(self, destination=destination, port=port)


class Verdict(enum.StrEnum):
    PASSED = "passed on"
    REFUSED = "refused"
    DROPPED = "dropped"
    ANSWERED = "answered"
    """By the node itself, or by a process on it."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that did something to the packet."""

    chain: str
    rule: str

    def __str__(self) -> str:
        return f"{self.chain}: {self.rule}"


# What packets have written down for those that follow: by set, by key.
Memory = Mapping[tuple[str, str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Trace:
    """One way a packet can go. `packet` is as it leaves the node; `hits` are in order."""

    verdict: Verdict
    packet: Packet
    translated: bool = False
    masqueraded: bool = False
    hits: tuple[Hit, ...] = ()
    probability: Fraction = Fraction(1)
    memory: Memory = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        where = f"{self.packet.destination} port {self.packet.port}"
        if self.verdict is not Verdict.PASSED:
            return f"{self.verdict} by {self.hits[-1] if self.hits else 'the node'}"
        if not self.translated:
            return f"left alone on its way to {where}"
        return f"sent to {where}" + (", masqueraded" if self.masqueraded else "")


class Chooser:
    """Chance, made repeatable: it goes the way it is told and then takes the first of everything."""

    def __init__(self, way: Sequence[int] = ()) -> None:
        self._way = way
        self.taken: list[tuple[int, int]] = []
        self.probability = Fraction(1)

    def choose(self, weights: Sequence[Fraction]) -> int:
        """The number of one of them. What can't happen is never taken."""
        possible = [number for number, weight in enumerate(weights) if weight > 0]
        position = self._way[len(self.taken)] if len(self.taken) < len(self._way) else 0
        self.taken.append((position, len(possible)))
        self.probability *= weights[possible[position]]
        return possible[position]

    def next_way(self) -> list[int]:
        """The way to go after this one; empty if there is none left."""
        taken = list(self.taken)
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        return [*(position for position, _ in taken[:-1]), taken[-1][0] + 1] if taken else []


def explore(walk: Callable[[Chooser], Trace]) -> Iterator[Trace]:
    """Every way that a walk can go."""
    way: list[int] = []
    while True:
        chooser = Chooser(way)
        trace = walk(chooser)
        yield replace(trace, probability=chooser.probability)
        way = chooser.next_way()
        if not way:
            return
