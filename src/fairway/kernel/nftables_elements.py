"""The elements of sets and maps as netlink messages, made from the words that nft has for them.

Only for filling sets that exist: definitions, chains and rules are left to libnftables, which takes several
times as long over the elements of a large set. See docs/adr/062.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from fairway.kernel.nfnetlink import FAMILIES, NESTED, attribute, nested, text
from fairway.kernel.nfnetlink_batch import Request, portions

SUBSYSTEM = 10
_NEW, _DELETE = SUBSYSTEM << 8 | 12, SUBSYSTEM << 8 | 14
_CREATE = 0x400
_TABLE, _SET, _LIST = 1, 2, 3
_ELEMENT, _KEY, _DATA, _KEY_END = 1, 1, 2, 10
_VALUE, _VERDICT = 1, 2
_CODE, _CHAIN = 1, 2
_CODES = {"drop": 0, "accept": 1, "jump": -3, "goto": -4}
# The length of an attribute, such as a list of elements, has 16 bits.
_MOST = 60_000

Encoder = Callable[[str], bytes]


class Refill(NamedTuple):
    """All that a set or map shall hold from now on. Its definition tells what the words of a key are."""

    family: str
    table: str
    name: str
    definition: str
    elements: Sequence[tuple[str, str]]
    """Keys and values; those of sets are empty."""


def requests(refill: Refill) -> Iterator[Request]:
    """Empty it, then fill it: who looks sees only what a whole transaction makes of it."""
    family, owner = FAMILIES[refill.family], text(_TABLE, refill.table) + text(_SET, refill.name)
    yield Request(_DELETE, 0, family, owner)
    for elements in portions(_elements(refill), _MOST):
        yield Request(_NEW, _CREATE, family, owner + nested(_LIST, *elements))


def _elements(refill: Refill) -> Iterator[bytes]:
    key, value = _encoders(refill.definition)
    for words, meaning in refill.elements:
        element = key(words) + value(meaning) if meaning else key(words)
        yield _head(_ELEMENT, len(element)) + element


def _encoders(definition: str) -> tuple[Encoder, Encoder]:
    """For the keys and the values of a set `{ typeof KEY : VALUE; FLAGS }`."""
    types, _, flags = definition.partition(" typeof ")[2].partition(";")
    key, _, value = types.partition(" : ")
    keys = _interval(key) if "interval" in flags else _concatenation(_KEY, key)
    return keys, _verdict if value in ("", "verdict") else _concatenation(_DATA, value)


def _concatenation(kind: int, types: str) -> Encoder:
    fields = [_FIELDS[name] for name in types.split(" . ")]

    def encode(words: str) -> bytes:
        parts = [field(word) for field, word in zip(fields, words.split(" . "), strict=True)]
        encoded = b"".join(parts)
        return _value_head(kind, len(encoded)) + encoded

    return encode


def _interval(types: str) -> Encoder:
    """Only the last field may be a range, as a network."""
    first, last = _concatenation(_KEY, types), _concatenation(_KEY_END, types)

    def encode(words: str) -> bytes:
        fixed, dot, network = words.rpartition(" . ")
        addresses = ipaddress.ip_network(network)
        return first(f"{fixed}{dot}{addresses[0]}") + last(f"{fixed}{dot}{addresses[-1]}")

    return encode


# Elements are many, and most of an element is like the one before.
@lru_cache(4096)
def _verdict(words: str) -> bytes:
    code, _, chain = words.partition(" ")
    parts = [attribute(_CODE, struct.pack(">i", _CODES[code]))] + ([text(_CHAIN, chain)] if chain else [])
    return nested(_DATA, nested(_VERDICT, *parts))


@lru_cache(4096)
def _head(kind: int, size: int) -> bytes:
    return struct.pack("=HH", size + 4, kind | NESTED)


@lru_cache(4096)
def _value_head(kind: int, size: int) -> bytes:
    return _head(kind, size + 4) + struct.pack("=HH", size + 4, _VALUE)


@lru_cache(4096)
def _port(word: str) -> bytes:
    return struct.pack(">H2x", int(word))


@lru_cache(4096)
def _number(word: str) -> bytes:
    return struct.pack("=I", int(word))


def _priority(word: str) -> bytes:
    major, _, minor = word.partition(":")
    return struct.pack("=I", int(major, 16) << 16 | int(minor, 16))


def _ipv6(word: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6, word)


# By the expressions that definitions name. Every field takes a multiple of four bytes.
_FIELDS: dict[str, Encoder] = {
    **dict.fromkeys(("ip saddr", "ip daddr"), socket.inet_aton),
    **dict.fromkeys(("ip6 saddr", "ip6 daddr"), _ipv6),
    **dict.fromkeys((f"{protocol} dport" for protocol in ("th", "tcp", "udp", "sctp")), _port),
    "meta l4proto": {"tcp": b"\x06\0\0\0", "udp": b"\x11\0\0\0", "sctp": b"\x84\0\0\0"}.__getitem__,
    "numgen random mod 65536": _number,
    "meta priority": _priority,
}
