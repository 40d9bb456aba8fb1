"""The kinds of rules: each changes a query, if it concerns it, and says how to change the answer back. Pure.

Names are matched and written as text in small letters with a final dot, as regular expressions want it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from fairway.dns import names, wire
from fairway.dns.plugin import Request
from fairway.dns.wire import Query, Record, Reply

Undo = Callable[[Reply], Reply]
Change = Callable[[str], str | None]
"""A new name for an old one, or None to leave it."""


class Rule(Protocol):
    def apply(self, query: Query, request: Request) -> tuple[Query, Undo] | None:
        """The changed query and the way back; None if the rule doesn't concern it."""


def keep(reply: Reply) -> Reply:
    return reply


# ---- changes of a name ---------------------------------------------------------------------------------


def exactly(old: str, new: str) -> Change:
    return lambda name: new if name == old else None


def beginning(old: str, new: str) -> Change:
    return lambda name: new + name[len(old) :] if name.startswith(old) else None


def ending(old: str, new: str) -> Change:
    return lambda name: name[: len(name) - len(old)] + new if name.endswith(old) else None


def containing(old: str, new: str) -> Change:
    return lambda name: name.replace(old, new) if old in name else None


def fitting(pattern: re.Pattern[str], new: str) -> Change:
    """`{1}` in the new name stands for the first group of the pattern, `{0}` for all of it."""

    def change(name: str) -> str | None:
        found = pattern.search(name)
        if not found:
            return None
        return re.sub(r"\{(\d+)\}", lambda m: _group(found, int(m[1])), new)

    return change


def _group(found: re.Match[str], number: int) -> str:
    return (found[number] or "") if number <= found.re.groups else ""


# ---- rules ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NameRule:
    """Another name; `names` and `values` change owners and rdata of the answer."""

    change: Change
    names: tuple[Change, ...] = ()
    values: tuple[Change, ...] = ()

    def apply(self, query: Query, request: Request) -> tuple[Query, Undo] | None:
        new = _renamed(query.key, self.change)
        if new is None:
            return None
        return msgspec.structs.replace(query, name=new), self._undo

    def _undo(self, reply: Reply) -> Reply:
        return _mapped(reply, self._record)

    def _record(self, record: Record) -> Record:
        for change in self.values:
            record = wire.with_names(record, lambda name, change=change: _renamed(name, change) or name)  # type: ignore[misc]
        for change in self.names:
            new = _renamed(record.name, change)
            record = msgspec.structs.replace(record, name=new) if new else record
        return record


def _renamed(name: bytes, change: Change) -> bytes | None:
    new = change(names.to_text(name.lower()))
    if new is None:
        return None
    try:
        return names.from_text(new)
    except names.InvalidName:
        return None


def _mapped(reply: Reply, change: Callable[[Record], Record]) -> Reply:
    answer, authority, additional = (
        tuple(change(record) for record in section)
        for section in (reply.answer, reply.authority, reply.additional)
    )
    return msgspec.structs.replace(reply, answer=answer, authority=authority, additional=additional)


@dataclass(frozen=True)
class TypeRule:
    old: int
    new: int

    def apply(self, query: Query, request: Request) -> tuple[Query, Undo] | None:
        if query.type != self.old:
            return None
        return msgspec.structs.replace(query, type=self.new), keep


@dataclass(frozen=True)
class ClassRule:
    old: int
    new: int

    def apply(self, query: Query, request: Request) -> tuple[Query, Undo] | None:
        if query.rdclass != self.old:
            return None
        return msgspec.structs.replace(query, rdclass=self.new), keep


@dataclass(frozen=True)
class TtlRule:
    """All TTLs of the answers for some names, within bounds."""

    concerns: Change
    low: int
    high: int

    def apply(self, query: Query, request: Request) -> tuple[Query, Undo] | None:
        return (query, self._undo) if self.concerns(names.to_text(query.key)) is not None else None

    def _undo(self, reply: Reply) -> Reply:
        return _mapped(reply, self._bounded)

    def _bounded(self, record: Record) -> Record:
        return msgspec.structs.replace(record, ttl=max(self.low, min(self.high, record.ttl)))


@dataclass(frozen=True)
class RcodeRule:
    concerns: Change
    old: int
    new: int

    def apply(self, query: Query, request: Request) -> tuple[Query, Undo] | None:
        return (query, self._undo) if self.concerns(names.to_text(query.key)) is not None else None

    def _undo(self, reply: Reply) -> Reply:
        return msgspec.structs.replace(reply, rcode=self.new) if reply.rcode == self.old else reply
