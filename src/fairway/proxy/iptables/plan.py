"""From what changed to what iptables must be told.

A `Planner` remembers the chains and rules of every Service port; handed the new state of some Services, it
answers with what leads from the one to the other. When bringing that into force fails, the planner is thrown
away and a new one plans everything from nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fairway.proxy.changes import PortState
from fairway.proxy.iptables.fixed import SHARED, Chain, Rules, fixed_chains, last_rules
from fairway.proxy.iptables.port_rules import NOTHING, PortPlan, Spot, frontends, plan_port
from fairway.proxy.iptables.style import Host, Style, is_large
from fairway.proxy.model import Family, Protocol, ServicePort, ServicePortName
from fairway.proxy.settings import Settings
from fairway.proxy.stale_flows import Expectation

# Beyond so many, and a fourth of the chain, single rules are no cheaper than the chain anew.
_FEW_EDITS = 16


@dataclass(frozen=True, slots=True)
class Difference:
    """What must change in one family."""

    written: Mapping[Chain, Rules] = field(default_factory=dict)
    """Chains that are emptied and filled anew."""
    inserted: tuple[tuple[Chain, str], ...] = ()
    """Single rules that go to the head of a chain."""
    removed: tuple[tuple[Chain, str], ...] = ()
    deleted: tuple[str, ...] = ()
    """Chains of Service ports that are gone, all in the table nat."""

    def __bool__(self) -> bool:
        return bool(self.written or self.inserted or self.removed or self.deleted)


@dataclass(frozen=True, slots=True)
class Update:
    """What must change, and where the UDP flows of the Services concerned may lead now."""

    differences: Mapping[Family, Difference]
    udp: tuple[Expectation, ...] = ()


class Planner:
    def __init__(self, settings: Settings, host: Host) -> None:
        self.settings, self.host = settings, host
        self._ports: dict[str, dict[ServicePortName, PortState]] = {}
        self._families = {family: _FamilyPlan(Style(family, settings, host)) for family in Family}

    def update(self, changes: Mapping[str, tuple[PortState, ...]]) -> Update:
        """Take in the new state of some Services, by their keys."""
        udp: list[Expectation] = []
        affected: dict[Family, dict[ServicePortName, PortState | None]] = {family: {} for family in Family}
        for service, states in changes.items():
            before = self._ports.pop(service, {})
            after = {state.port.name: state for state in states}
            if after:
                self._ports[service] = after
            for name in {**before, **after}:
                affected[name.family][name] = after.get(name)
                if name.protocol is Protocol.UDP:
                    udp += _expectations(before.get(name), after.get(name))
        return Update(
            {family: self._families[family].update(affected[family]) for family in Family}, tuple(udp)
        )

    def style(self, family: Family) -> Style:
        return self._families[family].style

    def chains(self, family: Family) -> dict[Chain, Rules]:
        """Everything but the chains of Service ports."""
        return self._families[family].chains()

    def port_chains(self, family: Family) -> Iterator[Mapping[Chain, Rules]]:
        """The chains of one Service port after the other."""
        return self._families[family].port_chains()

    def port_plans(self, service: str) -> list[tuple[PortState, PortPlan]]:
        """What is known of each port of one Service, and what is planned for it."""
        known = self._ports.get(service, {})
        return [(state, self._families[name.family].plan(name)) for name, state in known.items()]

    def plans(self) -> dict[Family, dict[ServicePortName, PortPlan]]:
        """Of every Service port, as they are now."""
        return {family: known.plans() for family, known in self._families.items()}

    def udp_expectations(self) -> Iterator[Expectation]:
        for states in self._ports.values():
            for name, state in states.items():
                if name.protocol is Protocol.UDP:
                    yield from _expectations(None, state)

    def states(self) -> dict[str, tuple[PortState, ...]]:
        """All that has been taken in, for another planner to start from."""
        return {service: tuple(states.values()) for service, states in self._ports.items()}


class _FamilyPlan:
    """All that is planned in one family."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self._states: dict[ServicePortName, PortState] = {}
        self._plans: dict[ServicePortName, PortPlan] = {}
        self._shared: dict[Spot, dict[ServicePortName, Rules]] = {}
        self._endpoints = 0

    def update(self, affected: Mapping[ServicePortName, PortState | None]) -> Difference:
        for name, state in affected.items():
            self._take(name, state)
        pending = _Pending()
        for name in self._affected_by_size(affected):
            state = self._states.get(name)
            after = plan_port(state, self.style) if state else NOTHING
            self._replace(pending, name, self._plans.get(name, NOTHING), after)
        return self._difference(pending)

    def chains(self) -> dict[Chain, Rules]:
        return fixed_chains(self.style) | {chain: self._whole(chain) for chain in SHARED}

    def port_chains(self) -> Iterator[Mapping[Chain, Rules]]:
        for plan in self._plans.values():
            yield {("nat", name): rules for name, rules in plan.chains}

    def plans(self) -> dict[ServicePortName, PortPlan]:
        return dict(self._plans)

    def plan(self, name: ServicePortName) -> PortPlan:
        return self._plans.get(name, NOTHING)

    def _take(self, name: ServicePortName, state: PortState | None) -> None:
        before = self._states.pop(name, None)
        if state is not None:
            self._states[name] = state
        self._endpoints += (state.known if state else 0) - (before.known if before else 0)

    def _affected_by_size(self, affected: Mapping[ServicePortName, object]) -> list[ServicePortName]:
        """Every Service port is worded anew when the cluster becomes large, or is so no longer."""
        brief = is_large(self._endpoints)
        if brief == self.style.brief:
            return list(affected)
        self.style = Style(self.style.family, self.style.settings, self.style.host, brief)
        return list({**dict.fromkeys(affected), **dict.fromkeys(self._states)})

    def _replace(self, pending: _Pending, name: ServicePortName, before: PortPlan, after: PortPlan) -> None:
        if after is NOTHING:
            self._plans.pop(name, None)
        else:
            self._plans[name] = after
        old, new = dict(before.chains), dict(after.chains)
        pending.written |= {("nat", chain): rules for chain, rules in new.items() if old.get(chain) != rules}
        pending.deleted += [chain for chain in old if chain not in new]
        old_shared, new_shared = _by_spot(before), _by_spot(after)
        for spot in {**old_shared, **new_shared}:
            self._replace_shared(pending, spot, name, old_shared.get(spot, ()), new_shared.get(spot, ()))

    def _replace_shared(
        self, pending: _Pending, spot: Spot, name: ServicePortName, before: Rules, after: Rules
    ) -> None:
        if before == after:
            return
        owners = self._shared.setdefault(spot, {})
        if after:
            owners[name] = after
        else:
            del owners[name]
        pending.removed += [(spot, rule) for rule in before if rule not in after]
        pending.inserted += [(spot, rule) for rule in after if rule not in before]

    def _difference(self, pending: _Pending) -> Difference:
        edits: dict[Chain, list[Spot]] = {}
        for spot, _ in (*pending.inserted, *pending.removed):
            edits.setdefault((spot.table, spot.chain), []).append(spot)
        whole = {chain for chain, spots in edits.items() if self._is_better_whole(chain, spots)}
        return Difference(
            pending.written | {chain: self._whole(chain) for chain in sorted(whole)},
            tuple((spot[:2], rule) for spot, rule in pending.inserted if spot[:2] not in whole),
            tuple((spot[:2], rule) for spot, rule in pending.removed if spot[:2] not in whole),
            tuple(pending.deleted),
        )

    def _is_better_whole(self, chain: Chain, edits: list[Spot]) -> bool:
        """Also where the place in the chain matters: a rule is only ever inserted at the head."""
        if any(spot.rank for spot in edits):
            return True
        size = sum(len(owners) for spot, owners in self._shared.items() if spot[:2] == chain)
        return len(edits) > max(_FEW_EDITS, size // 4)

    def _whole(self, chain: Chain) -> Rules:
        rules: list[str] = []
        for spot in sorted(spot for spot in self._shared if spot[:2] == chain):
            owners = self._shared[spot]
            for name in sorted(owners):
                rules += owners[name]
        return (*rules, *last_rules(self.style).get(chain, ()))


@dataclass(slots=True)
class _Pending:
    """What one update has gathered so far."""

    written: dict[Chain, Rules] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    inserted: list[tuple[Spot, str]] = field(default_factory=list)
    removed: list[tuple[Spot, str]] = field(default_factory=list)


def _by_spot(plan: PortPlan) -> dict[Spot, Rules]:
    found: dict[Spot, Rules] = {}
    for spot, rules in plan.shared:
        found[spot] = found.get(spot, ()) + rules
    return found


def _expectations(before: PortState | None, after: PortState | None) -> Iterator[Expectation]:
    """For what a Service port answers on now, and for what it has given up."""
    current = set(frontends(after.port)) if after else set()
    given_up = set(frontends(before.port)) - current if before else set()
    pools = (*after.pools.cluster, *after.pools.local) if after else ()
    targets = frozenset((endpoint.ip, endpoint.port) for endpoint in pools)
    family = _port(before, after).name.family
    for address, port in sorted(current):
        yield Expectation(family, address, port, targets)
    for address, port in sorted(given_up):
        yield Expectation(family, address, port, frozenset())


def _port(before: PortState | None, after: PortState | None) -> ServicePort:
    state = after or before
    assert state is not None
    return state.port
