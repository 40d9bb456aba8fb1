"""From what changed to what the kernel must be told.

A `Planner` remembers what it has planned for every Service port. Handed the new state of some Services, it
answers with the difference. To begin anew from whatever the kernel holds, make a new one and compare the
kernel with all of its plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from fairway.proxy.changes import PortState
from fairway.proxy.ipvs.frontends import (
    Frontend,
    FrontendPlan,
    Reach,
    Server,
    Surroundings,
    frontends,
    hairpins,
    needs_mark,
    plan_frontend,
)
from fairway.proxy.ipvs.rules import MARK_BITS, mark_shift
from fairway.proxy.ipvs.sets import Member
from fairway.proxy.model import Protocol, ServicePort, ServicePortName
from fairway.proxy.stale_flows import Expectation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Difference:
    """Virtual servers before and after, by what they are known by; and what to add and delete elsewhere."""

    servers: Mapping[Frontend, tuple[Server | None, Server | None]] = field(default_factory=dict)
    addresses_added: frozenset[str] = frozenset()
    addresses_deleted: frozenset[str] = frozenset()
    members_added: frozenset[Member] = frozenset()
    members_deleted: frozenset[Member] = frozenset()
    udp: tuple[Expectation, ...] = ()


class Claim(NamedTuple):
    """A cluster IP wins over any other use of its address; among equals the first by name wins."""

    weak: bool
    name: ServicePortName
    plan: FrontendPlan


class Planner:
    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self._ports: dict[str, tuple[ServicePortName, ...]] = {}
        self._states: dict[ServicePortName, PortState] = {}
        self._wanted: dict[ServicePortName, tuple[Frontend, ...]] = {}
        self._hairpins: dict[ServicePortName, tuple[Member, ...]] = {}
        self._claims: dict[Frontend, list[Claim]] = {}
        self._marks = Marks(mark_shift(around.settings))
        self._addresses: Counter[str] = Counter()
        self._members: Counter[Member] = Counter()

    def update(self, changes: Mapping[str, tuple[PortState, ...]]) -> Difference:
        """Take in the new state of some Services, by their keys."""
        work = _Work(self._addresses, self._members)
        for service, states in changes.items():
            new = {state.port.name: state for state in states}
            for name in {*self._ports.pop(service, ()), *new}:
                self._replace(name, new.get(name), work)
            if new:
                self._ports[service] = tuple(new)
        for frontend, before in work.before.items():
            work.settle(frontend, before, self._holder(frontend))
        return work.difference()

    def servers(self) -> dict[Frontend, Server]:
        return {frontend: claims[0].plan.server for frontend, claims in self._claims.items()}

    def holders(self) -> dict[Frontend, ServicePortName]:
        """Whose every frontend is."""
        return {frontend: claims[0].name for frontend, claims in self._claims.items()}

    def server(self, frontend: Frontend) -> Server | None:
        plan = self._holder(frontend)
        return plan.server if plan else None

    def of(self, service: str) -> Iterator[tuple[ServicePort, list[tuple[Frontend, Server | None]]]]:
        """Each port of a Service with its frontends, and the servers there if they are its own."""
        for name in self._ports.get(service, ()):
            claimed = [(frontend, self._claims[frontend][0]) for frontend in self._wanted[name]]
            own = [(frontend, c.plan.server if c.name == name else None) for frontend, c in claimed]
            yield self._states[name].port, own

    def addresses(self) -> frozenset[str]:
        return frozenset(self._addresses)

    def members(self) -> frozenset[Member]:
        return frozenset(self._members)

    def states(self) -> dict[str, tuple[PortState, ...]]:
        """All that has been taken in, for another planner to start from."""
        return {service: tuple(self._states[n] for n in names) for service, names in self._ports.items()}

    def udp_expectations(self) -> Iterator[Expectation]:
        for name, state in self._states.items():
            if name.protocol is Protocol.UDP:
                yield from _expectations(state, (), self._wanted[name])

    def _replace(self, name: ServicePortName, state: PortState | None, work: _Work) -> None:
        old = self._wanted.pop(name, ())
        for frontend in old:
            work.note(frontend, self._holder(frontend))
            self._release(frontend, name)
        new: tuple[Frontend, ...] = ()
        if state is None:
            self._states.pop(name, None)
            self._marks.release(name)
        else:
            self._states[name] = state
            new = self._claim(state, work)
        pins = tuple(hairpins(state, self.around.node)) if state else ()
        work.exchange(self._hairpins.pop(name, ()), pins)
        if pins:
            self._hairpins[name] = pins
        if name.protocol is Protocol.UDP:
            work.udp += _expectations(state, old, new)

    def _claim(self, state: PortState, work: _Work) -> tuple[Frontend, ...]:
        name = state.port.name
        mark = self._marks.take(name) if needs_mark(state.port) else self._marks.release(name)
        reaches = frontends(state.port, self.around, mark)
        for frontend, reach in reaches.items():
            work.note(frontend, self._holder(frontend))
            plan = plan_frontend(state, frontend, reach, self.around, mark)
            claims = self._claims.setdefault(frontend, [])
            claims.append(Claim(reach is not Reach.CLUSTER_IP, name, plan))
            claims.sort(key=lambda claim: claim[:2])
        self._wanted[name] = tuple(reaches)
        return self._wanted[name]

    def _release(self, frontend: Frontend, name: ServicePortName) -> None:
        left = [claim for claim in self._claims[frontend] if claim.name != name]
        if left:
            self._claims[frontend] = left
        else:
            del self._claims[frontend]

    def _holder(self, frontend: Frontend) -> FrontendPlan | None:
        claims = self._claims.get(frontend)
        return claims[0].plan if claims else None


class _Work:
    """One update under way: what was in force for whatever it touches, and how often things are used."""

    def __init__(self, addresses: Counter[str], members: Counter[Member]) -> None:
        self.before: dict[Frontend, FrontendPlan | None] = {}
        self.udp: list[Expectation] = []
        self._servers: dict[Frontend, tuple[Server | None, Server | None]] = {}
        self._addresses, self._members = _Uses(addresses), _Uses(members)

    def note(self, frontend: Frontend, plan: FrontendPlan | None) -> None:
        self.before.setdefault(frontend, plan)

    def exchange(self, old: tuple[Member, ...], new: tuple[Member, ...]) -> None:
        for member in new:
            self._members.add(member)
        for member in old:
            self._members.drop(member)

    def settle(self, frontend: Frontend, before: FrontendPlan | None, after: FrontendPlan | None) -> None:
        if before == after:
            return
        old, new = before.server if before else None, after.server if after else None
        if old != new:
            self._servers[frontend] = (old, new)
        if after and after.held:
            self._addresses.add(after.held)
        if before and before.held:
            self._addresses.drop(before.held)
        self.exchange(before.members if before else (), after.members if after else ())

    def difference(self) -> Difference:
        return Difference(
            self._servers, *self._addresses.difference(), *self._members.difference(), tuple(self.udp)
        )


class _Uses(Generic[T]):
    """Counts uses in a counter that outlives it, and knows which things came into use and went out of it."""

    def __init__(self, counter: Counter[T]) -> None:
        self._counter = counter
        self._was_used: dict[T, bool] = {}

    def add(self, thing: T) -> None:
        self._was_used.setdefault(thing, thing in self._counter)
        self._counter[thing] += 1

    def drop(self, thing: T) -> None:
        self._was_used.setdefault(thing, True)
        self._counter[thing] -= 1
        if not self._counter[thing]:
            del self._counter[thing]

    def difference(self) -> tuple[frozenset[T], frozenset[T]]:
        added = frozenset(t for t, was in self._was_used.items() if not was and t in self._counter)
        deleted = frozenset(t for t, was in self._was_used.items() if was and t not in self._counter)
        return added, deleted


class Marks:
    """Numbers for the Service ports that need one. When all are in use, a port goes without: then its
    clients inside the cluster are held to policy Local as those outside are.
    """

    def __init__(self, shift: int) -> None:
        self._shift = shift
        self._taken: dict[ServicePortName, int] = {}
        self._free: list[int] = []

    def take(self, name: ServicePortName) -> int:
        if name not in self._taken:
            number = self._free.pop() if self._free else len(self._taken) + 1
            if number >= 1 << MARK_BITS:
                return 0
            self._taken[name] = number
        return self._taken[name] << self._shift

    def release(self, name: ServicePortName) -> int:
        number = self._taken.pop(name, 0)
        if number:
            self._free.append(number)
        return 0


def _expectations(
    state: PortState | None, before: tuple[Frontend, ...], after: tuple[Frontend, ...]
) -> Iterator[Expectation]:
    """For what a Service port answers on now, and for what it has given up."""
    pools = (*state.pools.cluster, *state.pools.local) if state else ()
    targets = frozenset((endpoint.ip, endpoint.port) for endpoint in pools)
    for frontend in {*before, *after}:
        if not frontend.mark:
            allowed = targets if frontend in after else frozenset()
            yield Expectation(frontend.family, frontend.address, frontend.port, allowed)
