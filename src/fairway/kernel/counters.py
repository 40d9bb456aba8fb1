"""The kernel's counters of nf_tables: how many packets elements of a map, and rules, have seen.

One instance is for one thread. Reading changes nothing and holds up no transaction; what is counted is for
others to know. Rules of iptables are rules of nf_tables, too.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from fairway.kernel import nfnetlink

_SUBSYSTEM = 10 << 8
_GET_RULES, _GET_ELEMENTS = _SUBSYSTEM | 7, _SUBSYSTEM | 13
_TABLE, _NAME = 1, 2
_ELEMENTS, _ELEMENT_KEY, _ELEMENT_DATA, _ELEMENT_EXPRESSION = 3, 1, 2, 7
_RULE_HANDLE, _RULE_EXPRESSIONS = 3, 4
_LIST_ENTRY, _VALUE, _VERDICT, _VERDICT_CHAIN = 1, 1, 2, 2
_EXPRESSION_NAME, _EXPRESSION_DATA, _IMMEDIATE_DATA = 1, 2, 2
# How these expressions begin: with their names. A counter's packets come last, in an attribute of kind 2.
_COUNTER, _COUNTER_SIZE = nfnetlink.text(_EXPRESSION_NAME, "counter"), 40
_IMMEDIATE = nfnetlink.text(_EXPRESSION_NAME, "immediate")
_PACKETS_HEADER, _NEVER = struct.pack("=HH", 12, 2), bytes(8)


class ElementCount(NamedTuple):
    key: bytes
    """As the kernel has it: each part filled up to a multiple of four bytes."""
    chain: str
    """Where its verdict leads; empty if it leads to no chain."""
    packets: int


class RuleCount(NamedTuple):
    handle: int
    """What the kernel knows the rule by; never given to another one."""
    target: str
    packets: int


class Counters(Protocol):
    """What is not there, or has never seen a packet, is left out. Families are `ip` and `ip6`."""

    def elements(self, family: str, table: str, name: str) -> list[ElementCount]:
        """Those of a map of verdicts."""

    def some_elements(
        self, family: str, table: str, name: str, keys: Iterable[bytes]
    ) -> list[ElementCount]: ...

    def rules(self, family: str, table: str, chain: str) -> list[RuleCount]:
        """Those that lead to another chain."""

    def close(self) -> None: ...


class KernelCounters:
    """In the network namespace of the thread that makes it, wherever it is used later."""

    def __init__(self) -> None:
        self._socket = nfnetlink.Socket()

    def elements(self, family: str, table: str, name: str) -> list[ElementCount]:
        messages = self._dump(_GET_ELEMENTS, family, _named(table, name))
        return [found for message in messages for found in _element_counts(message)]

    def some_elements(self, family: str, table: str, name: str, keys: Iterable[bytes]) -> list[ElementCount]:
        found: list[ElementCount] = []
        for key in keys:
            value = nfnetlink.nested(_ELEMENT_KEY, nfnetlink.attribute(_VALUE, key))
            wanted = nfnetlink.nested(_ELEMENTS, nfnetlink.nested(_LIST_ENTRY, value))
            try:
                answer = self._socket.get(
                    _GET_ELEMENTS, nfnetlink.FAMILIES[family], _named(table, name) + wanted
                )
            except nfnetlink.NetfilterError as error:
                if error.errno != errno.ENOENT:
                    raise
            else:
                found += _element_counts(answer)
        return found

    def rules(self, family: str, table: str, chain: str) -> list[RuleCount]:
        messages = self._dump(_GET_RULES, family, _named(table, chain))
        return [found for message in messages if (found := _rule_count(message)) is not None]

    def close(self) -> None:
        self._socket.close()

    def _dump(self, kind: int, family: str, attributes: bytes) -> list[bytes]:
        try:
            # Whoever counts needs no state that is consistent over all elements.
            return self._socket.dump(kind, nfnetlink.FAMILIES[family], attributes, consistent=False)
        except nfnetlink.NetfilterError as error:
            if error.errno != errno.ENOENT:
                raise
            return []


class FakeCounters:
    """By (family, table, map or chain). Packets may be counted by whoever pretends."""

    def __init__(self) -> None:
        self.counted: dict[tuple[str, str, str], dict[bytes, ElementCount]] = {}
        self.ruled: dict[tuple[str, str, str], list[RuleCount]] = {}

    def elements(self, family: str, table: str, name: str) -> list[ElementCount]:
        return list(self.counted.get((family, table, name), {}).values())

    def some_elements(self, family: str, table: str, name: str, keys: Iterable[bytes]) -> list[ElementCount]:
        known = self.counted.get((family, table, name), {})
        return [known[key] for key in keys if key in known]

    def rules(self, family: str, table: str, chain: str) -> list[RuleCount]:
        return list(self.ruled.get((family, table, chain), ()))

    def close(self) -> None:
        return None


def _named(table: str, name: str) -> bytes:
    return nfnetlink.text(_TABLE, table) + nfnetlink.text(_NAME, name)


def _element_counts(message: bytes) -> Iterator[ElementCount]:
    entries = dict(nfnetlink.attributes(message)).get(_ELEMENTS, b"")
    for _, entry in nfnetlink.attributes(entries):
        parts = dict(nfnetlink.attributes(entry))
        packets = _packets(parts.get(_ELEMENT_EXPRESSION, b""))
        if packets:
            key = dict(nfnetlink.attributes(parts[_ELEMENT_KEY]))[_VALUE]
            yield ElementCount(key, _chain(parts.get(_ELEMENT_DATA, b"")), packets)


def _rule_count(message: bytes) -> RuleCount | None:
    # Most rules are idle, and taking one apart is ten times the work of finding its counter.
    at = message.find(_COUNTER)
    if at < 0 or not _packets(message[at : at + _COUNTER_SIZE]):
        return None
    parts = dict(nfnetlink.attributes(message))
    target = ""
    for _, expression in nfnetlink.attributes(parts[_RULE_EXPRESSIONS]):
        if expression.startswith(_IMMEDIATE):
            data = dict(nfnetlink.attributes(expression))[_EXPRESSION_DATA]
            target = _chain(dict(nfnetlink.attributes(data)).get(_IMMEDIATE_DATA, b""))
    if not target:
        return None
    packets = _packets(message[at : at + _COUNTER_SIZE])
    return RuleCount(int.from_bytes(parts[_RULE_HANDLE], "big"), target, packets)


def _packets(expression: bytes) -> int:
    """Of a counter; 0 if it isn't one."""
    packets = expression[-8:]
    if packets == _NEVER or expression[-12:-8] != _PACKETS_HEADER:
        return 0
    return int.from_bytes(packets, "big")


def _chain(data: bytes) -> str:
    verdict = dict(nfnetlink.attributes(dict(nfnetlink.attributes(data)).get(_VERDICT, b"")))
    return verdict.get(_VERDICT_CHAIN, b"").rstrip(b"\0").decode()
