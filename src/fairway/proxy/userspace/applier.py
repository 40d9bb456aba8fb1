"""This mode: a relay that carries traffic, and rules that lead traffic to it.

First the relay opens its ports, then the rules lead there, then what nobody is led to is closed. Thin and
blocking; all calls come from one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

import structlog

from fairway.kernel.local_delivery import LocalDelivery
from fairway.metrics import Figure
from fairway.proxy.nftables.applier import Applier as Rules
from fairway.proxy.programming import Changes
from fairway.proxy.service_counts import Count
from fairway.proxy.settings import Settings
from fairway.proxy.userspace.channel import Relays
from fairway.proxy.userspace.counting import RelayCounts
from fairway.proxy.userspace.describe import describe
from fairway.proxy.userspace.messages import Bound, Listener
from fairway.proxy.userspace.plan import Planner, redirected

log = structlog.get_logger()


class Applier:
    def __init__(
        self,
        rules: Rules,
        relays: Relays,
        delivery: LocalDelivery,
        local_addresses: Callable[[], Container[str]],
    ) -> None:
        self._rules, self._relays, self._delivery = rules, relays, delivery
        self._local_addresses = local_addresses
        self._planner = Planner(rules.settings, frozenset())
        self._bound: dict[str, Bound] = {}
        self._counts = RelayCounts()

    @property
    def settings(self) -> Settings:
        return self._rules.settings

    def apply(self, changes: Changes) -> None:
        assignment = self._planner.update(changes)
        self._serve(assignment.serve)
        self._rules.apply(self._redirected(changes))
        self._forget(assignment.forget)

    def synchronise(self, changes: Changes) -> None:
        planner = Planner(self.settings, self._local_addresses())
        assignment = planner.update(self._planner.states | dict(changes))
        self._planner = planner
        self._delivery.ensure()
        self._relays.connect()
        self._bound = {}
        self._serve(assignment.serve)
        self._rules.synchronise(self._redirected(planner.states | dict(changes)))
        self._relays.keep_only(planner.keys())

    def configure(self, settings: Settings) -> None:
        """Takes effect with the next `synchronise`."""
        self._rules.configure(settings)

    def is_intact(self) -> bool:
        return self._relays.is_alive() and self._delivery.is_there() and self._rules.is_intact()

    def describe(self, service: str) -> str:
        """What is programmed for a Service, and the connections that use it right now."""
        known = {state.port.name: state for state in self._planner.states.get(service, ())}
        plans = [(known.get(plan.state.port.name), plan) for plan in self._rules.port_plans(service)]
        ports = [(state, plan) for state, plan in plans if state is not None]
        return describe(service, ports, self._bound, self._rules.connections)

    def figures(self) -> Iterator[Figure]:
        return self._rules.figures()

    def count_services(self) -> Count:
        told = self._relays.counted() if self._relays.is_alive() else None
        return self._counts.count(told, dict(self._planner.states))

    def remove(self) -> None:
        """Also cuts connections: they are the relay's."""
        self._rules.remove()
        self._relays.end()
        self._delivery.remove()

    def _serve(self, listeners: tuple[Listener, ...]) -> None:
        for listener, bound in zip(listeners, self._relays.serve(listeners), strict=True):
            if not bound.port:
                log.error("the relay could not open a port; the Service leads nowhere", key=listener.key)
            self._bound[listener.key] = bound

    def _forget(self, keys: tuple[str, ...]) -> None:
        self._relays.forget(keys)
        for key in keys:
            self._bound.pop(key, None)

    def _redirected(self, changes: Changes) -> Changes:
        return {
            service: tuple(redirected(state, self._bound) for state in states)
            for service, states in changes.items()
        }
