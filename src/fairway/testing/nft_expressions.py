"""The expressions of the nft language that our rules use, evaluated for one packet.

A value is text, as nft writes it; fields of a concatenation are joined by ` . `. An expression that finds
nothing raises `NoMatch`, as the kernel then leaves the rule. Statements are in `nft_rules`.
"""

from __future__ import annotations

import ipaddress
import zlib
from fractions import Fraction

from fairway.testing.tracing import Chooser, Packet, UnknownRule
from fairway.testing.walking import NoMatch, Passage


class Words:
    """A rule's words, read from left to right."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        self._words = rule.replace(",", " , ").split()
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._words)

    @property
    def next(self) -> str:
        return self._words[self._at] if self else ""

    def take(self) -> str:
        if not self:
            raise UnknownRule(f"the rule ends too early: {self.rule}")
        self._at += 1
        return self._words[self._at - 1]

    def accept(self, *words: str) -> bool:
        """Take these if they come next."""
        if tuple(self._words[self._at : self._at + len(words)]) != words:
            return False
        self._at += len(words)
        return True

    def expect(self, word: str) -> None:
        if self.take() != word:
            raise UnknownRule(f"expected {word!r}: {self.rule}")


def concatenation(words: Words, passage: Passage) -> str:
    """One or more expressions, joined by dots."""
    values = [_primary(words, passage)]
    while words.accept("."):
        values.append(_primary(words, passage))
    return " . ".join(values)


def _primary(words: Words, passage: Passage) -> str:
    """One expression, with the operation that may follow it."""
    value = _field(words, passage)
    if words.accept("&"):
        return _masked(value, words.take())
    for sign, name in (("or", "|"), ("xor", "^")):
        if words.accept(sign) or words.accept(name):
            other = int(words.take(), 0)
            return f"{int(value, 0) | other if sign == 'or' else int(value, 0) ^ other:#x}"
    return value


def _field(words: Words, passage: Passage) -> str:
    packet, head = passage.packet, words.take()
    match head:
        case "ip" | "ip6" if words.next in ("saddr", "daddr"):
            _of_family(head, packet)
            return packet.source if words.take() == "saddr" else packet.destination
        case "meta":
            return _meta(words.take(), passage, words)
        case "th" | "tcp" | "udp" | "sctp":
            words.expect("dport")
            if head not in ("th", packet.protocol):
                raise NoMatch
            return str(packet.port)
        case "fib":
            address = packet.source if words.take() == "saddr" else packet.destination
            words.expect("type")
            return "local" if address in passage.local else "unicast"
        case "ct":
            return _connection(words.take(), passage, words)
        case "numgen":
            return _number(words, passage.chooser)
        case "jhash":
            return _hash(words, passage)
    raise UnknownRule(f"{head!r} in: {words.rule}")


def _of_family(name: str, packet: Packet) -> None:
    if name != packet.family:
        raise NoMatch


def _meta(name: str, passage: Passage, words: Words) -> str:
    known = {
        "l4proto": passage.packet.protocol,
        "mark": f"{passage.mark:#x}",
        "priority": passage.priority,
        "iifname": passage.packet.interface,
    }
    if name not in known:
        raise UnknownRule(f"meta {name} in: {words.rule}")
    return known[name]


def _connection(name: str, passage: Passage, words: Words) -> str:
    """Of a connection that begins with this packet, or that this is the first answer of."""
    match name:
        case "state":
            return "established" if passage.is_reply else "new"
        case "status":
            return "dnat" if passage.translated else "none"
        case "direction":
            return "reply" if passage.is_reply else "original"
        case "mark":
            return f"{passage.connection_mark:#x}"
        case "original":
            _of_family(words.take(), passage.packet)
            words.expect("daddr")
            return passage.original.destination
    raise UnknownRule(f"ct {name} in: {words.rule}")


def _number(words: Words, chooser: Chooser) -> str:
    """Counting up and chance are the same to one packet: any number may come."""
    if words.take() not in ("random", "inc"):
        raise UnknownRule(f"numgen in: {words.rule}")
    words.expect("mod")
    count = int(words.take())
    offset = int(words.take()) if words.accept("offset") else 0
    return str(offset + chooser.choose([Fraction(1, count)] * count))


def _hash(words: Words, passage: Passage) -> str:
    """Not the kernel's function, but one that is as good at telling clients apart."""
    key = concatenation(words, passage)
    words.expect("mod")
    modulus = int(words.take())
    words.expect("seed")
    return str(zlib.crc32(f"{words.take()}|{key}".encode()) % modulus)


def _masked(value: str, mask: str) -> str:
    """Of addresses, marks (0x4000) and priorities (f000:0)."""
    if ipaddress_like(value):
        address = ipaddress.ip_address(value)
        return str(type(address)(int(address) & int(ipaddress.ip_address(mask))))
    if value.startswith("0x"):
        return f"{int(value, 0) & int(mask, 0):#x}"
    halves = zip(value.split(":"), mask.split(":"), strict=True)
    return ":".join(f"{int(half, 16) & int(other, 16):x}" for half, other in halves)


def ipaddress_like(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def equal(value: str, wanted: str) -> bool:
    """Field by field; a field that is asked for may be a range."""
    mine, theirs = value.split(" . "), wanted.split(" . ")
    return len(mine) == len(theirs) and all(map(_field_equal, mine, theirs))


def _field_equal(value: str, wanted: str) -> bool:
    if value == wanted:
        return True
    if "/" in wanted:
        return ipaddress_like(value) and ipaddress.ip_address(value) in ipaddress.ip_network(wanted)
    if value.startswith("0x") and wanted.startswith("0x"):
        return int(value, 16) == int(wanted, 16)
    return False
