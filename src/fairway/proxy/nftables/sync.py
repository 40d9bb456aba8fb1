"""Everything at once: what leads from whatever the kernel holds to what is planned.

Used at the start, after a failure and when someone else has changed our tables. Packets see the maps either
as they were or as they are planned; connections that exist are conntrack's and notice nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from fairway.kernel.nftables_elements import Refill
from fairway.proxy.model import Family
from fairway.proxy.nftables import ruleset
from fairway.proxy.nftables.plan import Planner
from fairway.proxy.nftables.transaction import Chain, Element, Table, Transaction, add_elements, add_rules

Existing = Mapping[Family, Collection[str]]


class Synchronisation(NamedTuple):
    """In this order, so that packets never meet a map that isn't filled or a chain without its rules."""

    prepare: Transaction
    """Maps, and the chains that only elements and other chains lead to."""
    refills: tuple[Refill, ...]
    open: Transaction
    """The chains that the kernel calls; those that nothing leads to any more go."""


def synchronise(planner: Planner, existing: Existing) -> Synchronisation:
    """Refill our tables in place, given the chains they have now; what clients are tied to is kept."""
    return Synchronisation(
        _transaction(_prepare(planner, family) for family in Family),
        tuple(refill for family in Family for refill in _refills(planner, family)),
        _transaction(_open(planner, family, existing.get(family, ())) for family in Family),
    )


def replace(planner: Planner) -> Transaction:
    """Begin with new tables: for when those that exist have another layout."""
    return _transaction(
        commands
        for family in Family
        for table in [planner.layout.in_family(family)]
        for commands in (
            remove(table),
            _prepare(planner, family),
            add_elements(table, planner.elements(family)),
            _open(planner, family, ()),
        )
    )


def remove(table: Table) -> Iterator[str]:
    """Deleting a table that doesn't exist is an error; adding one that does is not."""
    yield f"add table {table}"
    yield f"delete table {table}"


def _prepare(planner: Planner, family: Family) -> Iterator[str]:
    layout, table = planner.layout, planner.layout.in_family(family)
    yield f"add table {table}"
    for definition in ruleset.maps(family).values():
        yield f"add {_named(definition, table)}"
    chains = [chain for chain in _chains(planner, family) if chain.name not in layout.hooks]
    yield from (f"add chain {table} {chain.name}" for chain in chains)
    yield from _rules(table, chains)
    for name in ruleset.CONFIGURED:
        yield f"flush set {table} {name}"
    yield from add_elements(table, _configured(family, planner))


def _refills(planner: Planner, family: Family) -> Iterator[Refill]:
    layout, definitions = planner.layout, ruleset.maps(family)
    elements: dict[str, list[tuple[str, str]]] = {
        name: [] for name in definitions if name not in ruleset.KEPT and name not in ruleset.CONFIGURED
    }
    for name, key, value in planner.elements(family):
        elements[name].append((key, value))
    for name, entries in elements.items():
        yield Refill(family, layout.table, name, definitions[name], entries)


def _open(planner: Planner, family: Family, existing: Collection[str]) -> Iterator[str]:
    layout, table = planner.layout, planner.layout.in_family(family)
    chains = list(_chains(planner, family))
    hooked = [chain for chain in chains if chain.name in layout.hooks]
    for chain in hooked:
        yield f"add chain {table} {chain.name} {{ {layout.hooks[chain.name]} }}"
    yield from _rules(table, hooked)
    unused = sorted(set(existing) - {chain.name for chain in chains})
    # They may lead to each other.
    yield from (f"flush chain {table} {name}" for name in unused)
    yield from (f"delete chain {table} {name}" for name in unused)


def _chains(planner: Planner, family: Family) -> Iterator[Chain]:
    yield from (Chain(*entry) for entry in planner.layout.chains(family, planner.settings).items())
    yield from planner.chains(family)


def _rules(table: Table, chains: Iterable[Chain]) -> Iterator[str]:
    for chain in chains:
        yield f"flush chain {table} {chain.name}"
        yield from add_rules(table, chain)


def _named(definition: str, table: Table) -> str:
    """`map services { … }` as it is written outside a table: `map ip TABLE services { … }`."""
    kind, rest = definition.split(" ", 1)
    return f"{kind} {table} {rest}"


def _configured(family: Family, planner: Planner) -> Iterator[Element]:
    for name, keys in ruleset.fixed_elements(family, planner.settings).items():
        for key in keys:
            yield Element(name, key)


def _transaction(parts: Iterable[Iterable[str]]) -> Transaction:
    return Transaction(tuple(command for part in parts for command in part))
