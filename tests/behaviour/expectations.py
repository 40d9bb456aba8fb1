"""What a row of the table says, and how answers are judged by it. Pure: nothing here sends a packet.

A row is one line for people; it stands for a case in every protocol and family that it is true for.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .places import (
    CLIENTS,
    NODES,
    OTHER_SERVICE_PORT,
    PODS,
    SERVICE_PORT,
    gateway,
    lan_address,
    masqueraded,
    own_node,
)
from .services import balancer_ip, cluster_ip, external_ip, node_port

# Modes that relay by a process of the node: an endpoint doesn't see which Pod has asked. What comes from
# outside and must show its address (policy Local) isn't relayed.
HIDING = frozenset({"userspace"})


# SCTP is not a stream of bytes, which a relay could carry.
REFUSING_SCTP = frozenset({"userspace"})


class Seen(enum.StrEnum):
    """Whose address the endpoint sees."""

    CLIENT = "client"
    NODE = "the node that chose the endpoint"


class Kind(enum.StrEnum):
    REACHED = "reached"
    REFUSED = "refused"
    DROPPED = "dropped"
    UNREACHABLE = "unreachable"
    FORBIDDEN = "forbidden"
    """The node's own kernel didn't let the packet out."""
    BROKEN = "accepted, then closed without a word"


@dataclass(frozen=True, slots=True)
class Answer:
    kind: Kind
    name: str = ""
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """One of `kinds`; if reached, every one of the endpoints and no other."""

    kinds: frozenset[Kind]
    endpoints: frozenset[str] = frozenset()
    seen: Seen = Seen.CLIENT
    sticky: bool = False

    @property
    def reaches(self) -> bool:
        return Kind.REACHED in self.kinds


def reaches(endpoints: str, seen: Seen = Seen.CLIENT, sticky: bool = False) -> Expected:
    return Expected(frozenset({Kind.REACHED}), frozenset(endpoints.split()), seen, sticky)


REFUSED = Expected(frozenset({Kind.REFUSED, Kind.FORBIDDEN}))
DROPPED = Expected(frozenset({Kind.DROPPED, Kind.FORBIDDEN}))
# Not ours to answer. What happens then is up to routes and to others.
UNANSWERED = Expected(frozenset(Kind) - {Kind.REACHED, Kind.BROKEN})
PONG = Expected(frozenset({Kind.REACHED}))


@dataclass(frozen=True, slots=True)
class Row:
    """`to`: a kind of address and the node it leads to: `cluster`, `node-port@node-2`, `external@node-1`."""

    service: str
    client: str
    to: str
    expected: Expected
    differs: Mapping[str, Expected] = field(default_factory=dict)
    """Modes that do otherwise, and rightly so."""
    protocols: tuple[str, ...] = ("tcp", "udp", "sctp")
    families: tuple[int, ...] = (4, 6)
    setting: str = ""
    """The proxy's configuration that it is about, by the names of `rows.SETTINGS`."""

    @property
    def title(self) -> str:
        about = f"{self.service}, {self.setting}" if self.setting else self.service
        return f"{about}: {self.client} to {self.to}"

    def expects(self, mode: str) -> Expected:
        expected = self.differs.get(mode, self.expected)
        hidden = mode in HIDING and self.client in PODS
        return replace(expected, seen=Seen.NODE) if hidden else expected

    def cases(self) -> Iterator[Case]:
        for protocol in self.protocols:
            for family in self.families:
                yield Case(self, protocol, family)


@dataclass(frozen=True, slots=True)
class Case:
    row: Row
    protocol: str
    family: int

    @property
    def name(self) -> str:
        return f"{self.row.title}, {self.protocol} {self.family}"

    @property
    def source(self) -> str:
        return CLIENTS[self.row.client].of(self.family)

    @property
    def destination(self) -> tuple[str, int]:
        return destination(self.row.service, self.row.to, self.family)

    @property
    def chooser(self) -> str:
        """The node that decides: where the packet first meets a proxy that knows its address."""
        kind, _, node = self.row.to.partition(":")[0].partition("@")
        own = own_node(self.row.client)
        if kind in ("node-port", "gateway"):
            return node
        return own or node or "node-1"

    def is_possible(self, mode: str) -> bool:
        """The kernel's IPVS drops SCTP that a node's own processes send."""
        return not (mode == "ipvs" and self.protocol == "sctp" and self.row.client in NODES)

    def expects(self, mode: str) -> Expected:
        """Linux tells an SCTP client nothing of the ICMP errors by which it is refused."""
        expected = self.row.expects(mode)
        if self.protocol == "sctp" and mode in REFUSING_SCTP and expected.kinds != UNANSWERED.kinds:
            expected = REFUSED
        if self.protocol == "sctp" and Kind.REFUSED in expected.kinds:
            return replace(expected, kinds=expected.kinds | {Kind.DROPPED})
        return expected

    def judge(self, answers: Sequence[Answer], mode: str) -> str:
        """What is wrong with the answers; empty if nothing is."""
        expected = self.expects(mode)
        for answer in answers:
            if answer.kind not in expected.kinds:
                return f"{answer.kind} {answer.name}, where it must be {' or '.join(sorted(expected.kinds))}"
            if wrong := self._wrong(answer, expected):
                return wrong
        if expected.sticky and len({a.name for a in answers}) > 1:
            return f"affinity should have kept the client at one endpoint: {[a.name for a in answers]}"
        missing = expected.endpoints - {answer.name for answer in answers}
        return f"never reached {sorted(missing)}" if missing and not expected.sticky else ""

    def _wrong(self, answer: Answer, expected: Expected) -> str:
        if answer.kind is not Kind.REACHED or self.protocol == "icmp":
            return ""
        if answer.name not in expected.endpoints:
            return f"reached {answer.name}, which is none of {sorted(expected.endpoints)}"
        wanted = self.seen_by(answer.name, expected)
        return "" if answer.seen == wanted else f"{answer.name} sees {answer.seen}, not {wanted}"

    def seen_by(self, endpoint: str, expected: Expected) -> str:
        """An endpoint that reaches itself must never see its own address, or it would answer itself."""
        pod = endpoint.partition("+")[0]
        if expected.seen is Seen.CLIENT and pod != self.row.client:
            return self.source
        return masqueraded(self.chooser, pod).of(self.family)


def destination(service: str, to: str, family: int) -> tuple[str, int]:
    """`to` may end in a port of the Service (`:81`); node ports are meant by it, too."""
    where, _, port = to.partition(":")
    kind, _, node = where.partition("@")
    number = int(port or SERVICE_PORT)
    match kind:
        case "cluster":
            return cluster_ip(service).of(family), number
        case "external":
            return external_ip(service, node or "node-1").of(family), number
        case "balancer":
            return balancer_ip(service, node or "node-1").of(family), number
        case "node-port" | "gateway":
            own = lan_address(node) if kind == "node-port" else gateway(node)
            assert node in NODES
            return own.of(family), node_port(service, number)
        case "loopback":
            return ("127.0.0.1" if family == 4 else "::1"), node_port(service, number)
        case "unused-node-port":
            return lan_address(node or "node-1").of(family), 32000
        case "unused-address":
            return ("10.96.200.200" if family == 4 else "fd00:96::ffff"), number
    raise ValueError(f"the table knows no destination {to}")


OTHER = f":{OTHER_SERVICE_PORT}"
