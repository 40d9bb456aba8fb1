"""nftables in memory, for tests: keeps tables, chains, rules, maps and their elements, and refuses what the
kernel refuses.

Understands one command a line, in the long form (`add element ip TABLE NAME { … }`). It doesn't read rules:
they are kept as text.
"""

from __future__ import annotations

import copy
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fairway.kernel.nftables import Contents, NftablesError, TransactionTooLarge
from fairway.kernel.nftables_elements import Refill


@dataclass
class FakeSet:
    definition: str
    elements: dict[str, str] = field(default_factory=dict)


@dataclass
class FakeTable:
    chains: dict[str, list[str]] = field(default_factory=dict)
    hooks: dict[str, str] = field(default_factory=dict)
    """Of base chains: `type nat hook prerouting priority dstnat;`"""
    sets: dict[str, FakeSet] = field(default_factory=dict)

    def is_used(self, chain: str) -> bool:
        """Whether a verdict in a map or in a rule leads to the chain."""
        target = re.compile(rf"\b(goto|jump) {re.escape(chain)}$")
        in_maps = any(target.search(value) for s in self.sets.values() for value in s.elements.values())
        return in_maps or any(target.search(rule) for rules in self.chains.values() for rule in rules)


class FakeNftables:
    """Tables by (family, name). `transactions` holds the text of all that were accepted.

    `fail_next` makes that many calls fail; `largest` is the longest text that is taken.
    """

    def __init__(self) -> None:
        self.tables: dict[tuple[str, str], FakeTable] = {}
        self.transactions: list[str] = []
        self.fail_next = 0
        self.largest = 1 << 30
        self._generation = 1

    def run(self, transaction: str) -> None:
        if len(transaction) > self.largest:
            raise TransactionTooLarge("asked to be small")
        self._run(transaction)

    def refill(self, refills: Iterable[Refill]) -> int:
        self._run("\n".join(line for refill in refills for line in _as_commands(refill)))
        return 1

    def _run(self, transaction: str) -> None:
        if self.fail_next:
            self.fail_next -= 1
            raise NftablesError("asked to fail")
        before = copy.deepcopy(self.tables)
        try:
            for line in transaction.splitlines():
                self._command(line)
        except NftablesError:
            self.tables = before
            raise
        self.transactions.append(transaction)
        self._generation += 1

    def query(self, command: str, terse: bool = False) -> list[dict[str, Any]]:
        """Only `list ruleset` and `list table FAMILY NAME` are known."""
        words = command.split()
        wanted = [tuple(words[2:4])] if words[:2] == ["list", "table"] else list(self.tables)
        found: list[dict[str, Any]] = []
        for family, name in wanted:
            found += self._describe(family, name, terse)
        return found

    def generation(self) -> int:
        return self._generation

    def contents(self, family: str, table: str, sets: Collection[str]) -> Contents | None:
        known = self.tables.get((family, table))
        if known is None or any(name not in known.sets for name in sets):
            return None
        rules = zlib.crc32(repr(known.chains).encode())
        return Contents(rules, {name: len(known.sets[name].elements) for name in sets})

    def close(self) -> None:
        return None

    def elements(self, family: str, table: str, name: str) -> dict[str, str]:
        return self._set(self._table((family, table)), name).elements

    # -- commands --------------------------------------------------------------------------------------

    def _command(self, line: str) -> None:
        verb, kind, family, name, *rest = line.split(" ", 4)
        key, argument = (family, name), rest[0] if rest else ""
        if kind == "table":
            self._change_table(verb, key)
            return
        table = self._table(key)
        match verb, kind:
            case "add", "map" | "set":
                self._add_set(table, argument)
            case "flush", "map" | "set":
                self._set(table, argument).elements.clear()
            case "add", "chain":
                chain, _, hook = argument.partition(" { ")
                table.chains.setdefault(chain, [])
                if hook:
                    table.hooks[chain] = hook.removesuffix(" }")
            case "flush", "chain":
                self._chain(table, argument).clear()
            case "delete", "chain":
                self._delete_chain(table, argument)
            case "add", "rule":
                chain, text = argument.split(" ", 1)
                self._chain(table, chain).append(text)
            case "add", "element":
                self._add_elements(table, argument)
            case "delete", "element":
                self._delete_elements(table, argument)
            case _:
                raise NftablesError(f"syntax error: {line[:80]}")

    def _change_table(self, verb: str, key: tuple[str, str]) -> None:
        if verb == "add":
            self.tables.setdefault(key, FakeTable())
            return
        table = self._table(key)
        if verb == "delete":
            del self.tables[key]
        elif verb == "flush":
            for rules in table.chains.values():
                rules.clear()

    def _add_set(self, table: FakeTable, argument: str) -> None:
        name, definition = argument.split(" ", 1)
        known = table.sets.setdefault(name, FakeSet(definition))
        if known.definition != definition:
            raise NftablesError(f"File exists: {name} is defined otherwise")

    def _delete_chain(self, table: FakeTable, name: str) -> None:
        if self._chain(table, name) or table.is_used(name):
            raise NftablesError(f"Device or resource busy: {name}")
        del table.chains[name]
        table.hooks.pop(name, None)

    def _add_elements(self, table: FakeTable, argument: str) -> None:
        name, body = argument.split(" ", 1)
        known = self._set(table, name).elements
        for entry in _entries(body):
            key, _, value = entry.partition(" : ")
            if known.get(key, value) != value:
                raise NftablesError(f"File exists: {key} in {name}")
            if value.startswith("goto "):
                self._chain(table, value.removeprefix("goto "))
            known[key] = value

    def _delete_elements(self, table: FakeTable, argument: str) -> None:
        name, body = argument.split(" ", 1)
        known = self._set(table, name).elements
        for key in _entries(body):
            if key not in known:
                raise NftablesError(f"No such file or directory: {key} in {name}")
            del known[key]

    def _table(self, key: tuple[str, str]) -> FakeTable:
        if key not in self.tables:
            raise NftablesError(f"No such file or directory: table {key}")
        return self.tables[key]

    def _set(self, table: FakeTable, name: str) -> FakeSet:
        if name not in table.sets:
            raise NftablesError(f"No such file or directory: set {name}")
        return table.sets[name]

    def _chain(self, table: FakeTable, name: str) -> list[str]:
        if name not in table.chains:
            raise NftablesError(f"No such file or directory: chain {name}")
        return table.chains[name]

    # -- listing ---------------------------------------------------------------------------------------

    def _describe(self, family: str, name: str, terse: bool) -> list[dict[str, Any]]:
        table, owner = self._table((family, name)), {"family": family, "table": name}
        found: list[dict[str, Any]] = [{"table": {"family": family, "name": name}}]
        for set_name, known in table.sets.items():
            elements = [[key, value] if value else key for key, value in known.elements.items()]
            kind = "map" if " : " in known.definition else "set"
            found.append({kind: owner | {"name": set_name} | ({} if terse else {"elem": elements})})
        for chain, rules in table.chains.items():
            found.append({"chain": owner | {"name": chain}})
            found += [{"rule": owner | {"chain": chain, "expr": [rule]}} for rule in rules]
        return found


def _entries(body: str) -> list[str]:
    return body.removeprefix("{ ").removesuffix(" }").split(", ")


def _as_commands(refill: Refill) -> Iterator[str]:
    yield f"flush set {refill.family} {refill.table} {refill.name}"
    if refill.elements:
        entries = [f"{key} : {value}" if value else key for key, value in refill.elements]
        yield f"add element {refill.family} {refill.table} {refill.name} {{ {', '.join(entries)} }}"
