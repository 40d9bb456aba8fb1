"""A change to the tables as a value: it can be compared, counted and printed as text for nft.

The kernel takes a transaction as a whole or not at all, and packets see either the state before it or after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from fairway.proxy.model import Family

# Characters of a piece, and elements of a command, so that pieces can be cut between commands.
_PART = 40_000
_ELEMENTS = 500


class Table(NamedTuple):
    """Printed the way commands name it."""

    family: Family
    name: str

    def __str__(self) -> str:
        return f"{self.family} {self.name}"


class Element(NamedTuple):
    """An entry of a set, or with a value, of a map."""

    set: str
    key: str
    value: str = ""


class Transaction(msgspec.Struct, frozen=True):
    """Commands in the order in which the kernel must take them."""

    commands: tuple[str, ...] = ()
    elements_added: int = 0
    elements_deleted: int = 0

    def __bool__(self) -> bool:
        return bool(self.commands)

    @property
    def text(self) -> str:
        return "\n".join(self.commands) + "\n"

    def parts(self) -> Iterator[str]:
        """The same in pieces that any kernel takes, for those where the whole is too large to be atomic."""
        part: list[str] = []
        for command in self.commands:
            if part and sum(map(len, part)) + len(command) > _PART:
                yield "\n".join(part) + "\n"
                part = []
            part.append(command)
        yield "\n".join(part) + "\n"


class Chain(NamedTuple):
    name: str
    rules: tuple[str, ...]


class Difference(msgspec.Struct, frozen=True):
    """What must change in one family."""

    table: Table
    deleted: tuple[Element, ...] = ()
    added: tuple[Element, ...] = ()
    chains_deleted: tuple[str, ...] = ()
    chains_added: tuple[Chain, ...] = ()

    def commands(self) -> Iterator[str]:
        """Elements go before the chains they lead to, and come after them."""
        yield from delete_elements(self.table, self.deleted)
        for name in self.chains_deleted:
            yield f"flush chain {self.table} {name}"
            yield f"delete chain {self.table} {name}"
        for chain in self.chains_added:
            yield f"add chain {self.table} {chain.name}"
            yield from add_rules(self.table, chain)
        yield from add_elements(self.table, self.added)


def transaction(differences: Iterable[Difference]) -> Transaction:
    parts = list(differences)
    return Transaction(
        tuple(command for part in parts for command in part.commands()),
        sum(len(part.added) for part in parts),
        sum(len(part.deleted) for part in parts),
    )


def add_rules(table: Table, chain: Chain) -> Iterator[str]:
    for rule in chain.rules:
        yield f"add rule {table} {chain.name} {rule}"


def add_elements(table: Table, elements: Iterable[Element]) -> Iterator[str]:
    by_set: dict[str, list[str]] = {}
    for name, key, value in elements:
        by_set.setdefault(name, []).append(f"{key} : {value}" if value else key)
    for name, entries in by_set.items():
        for some in _chunks(entries):
            yield f"add element {table} {name} {{ {', '.join(some)} }}"


def delete_elements(table: Table, elements: Iterable[Element]) -> Iterator[str]:
    by_set: dict[str, list[str]] = {}
    for name, key, _ in elements:
        by_set.setdefault(name, []).append(key)
    for name, keys in by_set.items():
        for some in _chunks(keys):
            yield f"delete element {table} {name} {{ {', '.join(some)} }}"


def _chunks(entries: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(entries), _ELEMENTS):
        yield entries[start : start + _ELEMENTS]
