"""From what changed to what the kernel must be told.

A `Planner` remembers what it has planned for every Service port; handed the new state of some Services, it
answers with the transaction that leads from the one to the other. When a transaction fails, the planner is
thrown away and a new one plans everything from nothing (`sync`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fairway.proxy.changes import PortState
from fairway.proxy.model import Family, Protocol, ServicePortName
from fairway.proxy.nftables.chains import Choice, Reach
from fairway.proxy.nftables.claims import Claims
from fairway.proxy.nftables.elements import NOTHING, Frontend, ServicePlan, frontends, plan_port
from fairway.proxy.nftables.layout import LAYOUT, Layout
from fairway.proxy.nftables.ruleset import COUNTED
from fairway.proxy.nftables.transaction import Chain, Difference, Element, Table, Transaction, transaction
from fairway.proxy.settings import Settings
from fairway.proxy.stale_flows import Expectation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Update:
    """What must change in the kernel, and where the UDP flows of the Services concerned may lead now."""

    differences: tuple[Difference, ...] = ()
    udp: tuple[Expectation, ...] = ()
    closing: Mapping[Frontend, ServicePortName] = field(default_factory=dict)
    """Whose elements go, with what they have counted, and which Service ports they have counted for."""

    @property
    def transaction(self) -> Transaction:
        return transaction(self.differences)


@dataclass(frozen=True, slots=True)
class PortPlan:
    """One Service port: what is known of it, what is programmed, and what others got before it."""

    state: PortState
    plan: ServicePlan
    reaches: Mapping[Frontend, Reach]
    taken: Mapping[Frontend, ServicePortName]


class Planner:
    """What is planned for every Service port, and the chains and elements that they share."""

    def __init__(self, settings: Settings, node: str, layout: Layout = LAYOUT) -> None:
        self.settings = settings
        self.node = node
        self.layout = layout
        self._ports: dict[str, tuple[ServicePortName, ...]] = {}
        self._states: dict[ServicePortName, PortState] = {}
        self._reaches: dict[ServicePortName, dict[Frontend, Reach]] = {}
        self._plans: dict[ServicePortName, ServicePlan] = {}
        self._claims = Claims()
        self._choices: Counter[tuple[Family, Choice]] = Counter()
        self._shared: Counter[tuple[Family, Element]] = Counter()

    def update(self, changes: Mapping[str, tuple[PortState, ...]]) -> Update:
        """Take in the new state of some Services, by their keys."""
        affected: dict[ServicePortName, None] = {}
        for service, states in changes.items():
            affected.update(dict.fromkeys(self._take(service, states)))
        pending = {family: _Pending() for family in Family}
        udp: list[Expectation] = []
        for name in affected:
            before = self._plans.get(name, NOTHING)
            after = self._plan(name, before)
            self._replace(pending[name.family], name, before, after)
            if name.protocol is Protocol.UDP:
                udp += _expectations(before, after)
        differences = tuple(
            pending[family].difference(self.layout.in_family(family), self.settings) for family in Family
        )
        closing = {frontend: name for part in pending.values() for frontend, name in part.closing()}
        return Update(differences, tuple(udp), closing)

    def elements(self, family: Family) -> Iterator[Element]:
        """Everything planned, as one Service after the other."""
        for name, plan in self._plans.items():
            if name.family is family:
                yield from plan.elements
        for owner, element in self._shared:
            if owner is family:
                yield element

    def chains(self, family: Family) -> Iterator[Chain]:
        for owner, choice in self._choices:
            if owner is family:
                yield Chain(choice.name, choice.rules(family, self.settings))

    def udp_expectations(self) -> Iterator[Expectation]:
        for name, plan in self._plans.items():
            if name.protocol is Protocol.UDP:
                yield from _expectations(NOTHING, plan)

    def port_plans(self, service: str) -> list[PortPlan]:
        """What is planned for one Service, port by port."""
        return [
            PortPlan(self._states[name], self._plans[name], self._reaches[name], self._holders(name))
            for name in self._ports.get(service, ())
        ]

    def holders(self) -> dict[Frontend, ServicePortName]:
        """Whose every frontend is."""
        return self._claims.holders()

    def _holders(self, name: ServicePortName) -> dict[Frontend, ServicePortName]:
        """Who has the frontends that this Service port wants and another one got."""
        wanted = {frontend: self._claims.holder(frontend) for frontend in self._reaches[name]}
        return {frontend: holder for frontend, holder in wanted.items() if holder and holder != name}

    def successor(self, settings: Settings) -> Planner:
        """One that begins anew, with the same place in the kernel."""
        return Planner(settings, self.node, self.layout)

    def states(self) -> dict[str, tuple[PortState, ...]]:
        """All that has been taken in, for another planner to start from."""
        return {service: tuple(self._states[n] for n in names) for service, names in self._ports.items()}

    def _take(self, service: str, states: tuple[PortState, ...]) -> Iterable[ServicePortName]:
        """Note the state and the claims; returns every Service port that must be planned anew."""
        old = self._ports.pop(service, ())
        new = {state.port.name: state for state in states}
        if new:
            self._ports[service] = tuple(new)
        affected = dict.fromkeys((*old, *new))
        for name in list(affected):
            reaches = dict(frontends(new[name].port)) if name in new else {}
            before = self._reaches.pop(name, {})
            affected.update(dict.fromkeys(self._claims.change(name, before, reaches)))
            if name in new:
                self._states[name], self._reaches[name] = new[name], reaches
            else:
                self._states.pop(name, None)
        return affected

    def _plan(self, name: ServicePortName, before: ServicePlan) -> ServicePlan:
        state = self._states.get(name)
        if state is None:
            return NOTHING
        wanted = self._reaches[name]
        granted = {frontend: wanted[frontend] for frontend in wanted if self._claims.holder(frontend) == name}
        return plan_port(state, granted, self.settings, before.order, self.node)

    def _replace(
        self, pending: _Pending, name: ServicePortName, before: ServicePlan, after: ServicePlan
    ) -> None:
        if after is NOTHING:
            self._plans.pop(name, None)
        else:
            self._plans[name] = after
        pending.take(name, before, after)
        for chain in _only(after.choices, before.choices):
            pending.chains[chain] += _count(self._choices, (name.family, chain), +1)
        for chain in _only(before.choices, after.choices):
            pending.chains[chain] += _count(self._choices, (name.family, chain), -1)
        for element in _only(after.shared, before.shared):
            pending.shared[element] += _count(self._shared, (name.family, element), +1)
        for element in _only(before.shared, after.shared):
            pending.shared[element] += _count(self._shared, (name.family, element), -1)


class _Pending:
    """The changes of one update in one family. A count above zero is an addition, below zero a deletion."""

    def __init__(self) -> None:
        self.deleted: list[Element] = []
        self.added: list[Element] = []
        self.chains: Counter[Choice] = Counter()
        self.shared: Counter[Element] = Counter()
        self._counted: dict[Element, tuple[Frontend, ServicePortName]] = {}

    def take(self, name: ServicePortName, before: ServicePlan, after: ServicePlan) -> None:
        deleted = _only(before.elements, after.elements)
        gone = {element.key: element for element in deleted if element.set == COUNTED}
        for frontend in before.frontends if gone else ():
            if frontend.key in gone:
                self._counted[gone[frontend.key]] = frontend, name
        self.deleted += deleted
        self.added += _only(after.elements, before.elements)

    def closing(self) -> Iterator[tuple[Frontend, ServicePortName]]:
        return (self._counted[element] for element in _only(tuple(self._counted), self.added))

    def difference(self, table: Table, settings: Settings) -> Difference:
        # An element that one Service port gives up and another takes over unchanged stays as it is.
        added, deleted = _only(self.added, self.deleted), _only(self.deleted, self.added)
        added = (*added, *(element for element, n in self.shared.items() if n > 0))
        deleted = (*deleted, *(element for element, n in self.shared.items() if n < 0))
        return Difference(
            table,
            deleted,
            added,
            tuple(choice.name for choice, n in self.chains.items() if n < 0),
            tuple(Chain(c.name, c.rules(table.family, settings)) for c, n in self.chains.items() if n > 0),
        )


def _only(these: Sequence[T], others: Sequence[T]) -> tuple[T, ...]:
    """Those of the first that are not among the others."""
    if not these or not others:
        return tuple(these)
    known = set(others)
    return tuple(one for one in these if one not in known)


def _count(counter: Counter[T], key: T, by: int) -> int:
    """Count a use; returns +1 if it is the first one, -1 if the last one has gone, otherwise 0."""
    counter[key] += by
    if counter[key] == 0:
        del counter[key]
        return -1
    return 1 if by > 0 and counter[key] == 1 else 0


def _expectations(before: ServicePlan, after: ServicePlan) -> Iterator[Expectation]:
    """For what a Service port answers on now, and for what it has given up."""
    parts = [target.split(" . ") for target in (*after.order.cluster, *after.order.local)]
    targets = frozenset((ip, int(port)) for ip, port in parts)
    for frontend in {*before.frontends, *after.frontends}:
        allowed = targets if frontend in after.frontends else frozenset()
        yield Expectation(frontend.family, frontend.address, frontend.port, allowed)
