"""The behaviour table through packet tracers: the same rows and the same judge, without sending anything.

Knows the way of a packet between nodes; what happens on a node is the tracer's to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from fairway.testing.tracing import Memory, Packet, Trace, Verdict

from .expectations import Answer, Case, Kind
from .places import (
    NODE_OF,
    NODES,
    OTHER_PORT,
    OUTSIDE,
    POD_PORT,
    PODS,
    gateway,
    local_addresses,
    masqueraded,
    own_node,
)

_KINDS = {Verdict.REFUSED: Kind.REFUSED, Verdict.DROPPED: Kind.DROPPED, Verdict.ANSWERED: Kind.REACHED}
_NAMES = {ip: name for name, a in (PODS | OUTSIDE).items() for ip in (a.v4, a.v6)}
_SUFFIXES = {POD_PORT: "", OTHER_PORT: "+other"}


class Tracer(Protocol):
    def trace(self, packet: Packet, memory: Memory | None = None) -> list[Trace]: ...


Memories = Mapping[str, Memory]


@dataclass(frozen=True, slots=True)
class Traced:
    """An answer, how likely it is, and what every node remembers after it."""

    answer: Answer
    probability: Fraction
    memories: Memories


def answers(tracers: Mapping[str, Tracer], case: Case) -> list[Answer]:
    """All that can come of a case. For a client that sticks, all that can come once it has come before."""
    first = list(_ways(tracers, case, {}))
    if not case.row.expected.sticky:
        return [each.answer for each in first]
    for each in first:
        later = {way.answer for way in _ways(tracers, case, each.memories)}
        if later != {each.answer}:
            return [each.answer, *later]
    return [first[0].answer]


def probabilities(tracers: Mapping[str, Tracer], case: Case) -> dict[str, Fraction]:
    found: dict[str, Fraction] = {}
    for way in _ways(tracers, case, {}):
        found[way.answer.name] = found.get(way.answer.name, Fraction(0)) + way.probability
    return found


def _ways(tracers: Mapping[str, Tracer], case: Case, memories: Memories) -> Iterator[Traced]:
    address, port = case.destination
    client = case.row.client
    packet = Packet(case.source, address, case.protocol, port, own=client in NODES)
    if own_node(client):
        packet = replace(packet, interface="" if packet.own else "pods0")
    else:
        packet = replace(packet, interface="eth0")
    yield from _at(tracers, own_node(client) or case.chooser, packet, memories)


def _at(tracers: Mapping[str, Tracer], node: str, packet: Packet, memories: Memories) -> Iterator[Traced]:
    for trace in tracers[node].trace(packet, memories.get(node)):
        known = {**memories, node: trace.memory}
        if trace.verdict is not Verdict.PASSED:
            yield Traced(Answer(_KINDS[trace.verdict]), trace.probability, known)
        elif trace.translated:
            yield Traced(_arrived(tracers, node, trace), trace.probability, known)
        elif trace.masqueraded:
            # What isn't translated is none of our business.
            yield Traced(Answer(Kind.BROKEN), trace.probability, known)
        else:
            yield from _untouched(tracers, node, packet, known)


def _arrived(tracers: Mapping[str, Tracer], node: str, trace: Trace) -> Answer:
    """At an endpoint, unless its own node takes the packet for something else, or it has no such port."""
    target = trace.packet
    pod = _NAMES[target.destination]
    node_address = masqueraded(node, pod).of(6 if ":" in target.destination else 4)
    seen = node_address if trace.masqueraded else target.source
    there = NODE_OF.get(pod, node)
    passing = replace(target, source=seen, own=False, interface="eth0")
    if there != node and any(_is_touched(other) for other in tracers[there].trace(passing)):
        return Answer(Kind.BROKEN)
    if target.port not in _SUFFIXES:
        return Answer(Kind.REFUSED)
    return Answer(Kind.REACHED, pod + _SUFFIXES[target.port], seen)


def _is_touched(trace: Trace) -> bool:
    return trace.verdict is not Verdict.PASSED or trace.translated or trace.masqueraded


def _untouched(
    tracers: Mapping[str, Tracer], node: str, packet: Packet, memories: Memories
) -> Iterator[Traced]:
    """Nothing listens on a node; an address of another one is that one's."""
    if packet.destination in local_addresses(node):
        yield Traced(Answer(Kind.REFUSED), Fraction(1), memories)
        return
    for other in NODES:
        if packet.destination in (NODES[other].v4, NODES[other].v6, *_inner(other)):
            yield from _at(tracers, other, replace(packet, own=False, interface="eth0"), memories)
            return
    yield Traced(Answer(Kind.UNREACHABLE), Fraction(1), memories)


def _inner(node: str) -> tuple[str, str]:
    own = gateway(node)
    return own.v4, own.v6
