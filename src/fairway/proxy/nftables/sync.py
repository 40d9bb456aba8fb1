"""Everything at once: the transaction that leads from whatever the kernel holds to what is planned.

Used at the start, after a failure and when someone else has changed our tables. Packets see either the old
tables or the new ones; connections that exist are conntrack's and notice nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from fairway.proxy.model import Family
from fairway.proxy.nftables import ruleset
from fairway.proxy.nftables.layout import Layout
from fairway.proxy.nftables.plan import Planner
from fairway.proxy.nftables.transaction import Chain, Element, Table, Transaction, add_elements, add_rules


def synchronise(planner: Planner, existing: Mapping[Family, Collection[str]]) -> Transaction:
    """Refill our tables in place, given the chains they have now; what clients are tied to is kept."""
    return _transaction(planner, _refill_all(planner, existing))


def replace(planner: Planner) -> Transaction:
    """Begin with new tables: for when those that exist have another layout."""
    commands = [command for family in Family for command in remove(planner.layout.in_family(family))]
    return _transaction(planner, [*commands, *_refill_all(planner, {})])


def remove(table: Table) -> Iterator[str]:
    """Deleting a table that doesn't exist is an error; adding one that does is not."""
    yield f"add table {table}"
    yield f"delete table {table}"


def _refill_all(planner: Planner, existing: Mapping[Family, Collection[str]]) -> list[str]:
    return [command for family in Family for command in _refill(planner, family, existing.get(family, ()))]


def _refill(planner: Planner, family: Family, existing: Collection[str]) -> Iterator[str]:
    layout, table = planner.layout, planner.layout.in_family(family)
    chains = [Chain(*entry) for entry in layout.chains(family, planner.settings).items()]
    chains += planner.chains(family)
    yield f"add table {table}"
    for definition in ruleset.maps(family).values():
        yield f"add {_named(definition, table)}"
    for chain in chains:
        yield f"add chain {table} {chain.name}{_hook(layout, chain.name)}"
    yield f"flush table {table}"
    for name, definition in ruleset.maps(family).items():
        if name not in ruleset.KEPT:
            yield f"flush {definition.split(' ', 1)[0]} {table} {name}"
    for name in sorted(set(existing) - {chain.name for chain in chains}):
        yield f"delete chain {table} {name}"
    for chain in chains:
        yield from add_rules(table, chain)
    yield from add_elements(table, _fixed(family, planner))
    yield from add_elements(table, planner.elements(family))


def _named(definition: str, table: Table) -> str:
    """`map services { … }` as it is written outside a table: `map ip TABLE services { … }`."""
    kind, rest = definition.split(" ", 1)
    return f"{kind} {table} {rest}"


def _hook(layout: Layout, chain: str) -> str:
    hook = layout.hooks.get(chain)
    return f" {{ {hook} }}" if hook else ""


def _fixed(family: Family, planner: Planner) -> Iterator[Element]:
    for name, keys in ruleset.fixed_elements(family, planner.settings).items():
        for key in keys:
            yield Element(name, key)


def _transaction(planner: Planner, commands: list[str]) -> Transaction:
    return Transaction(tuple(commands), sum(1 for family in Family for _ in planner.elements(family)))
