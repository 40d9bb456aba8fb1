"""The virtual servers in the kernel: brought there, compared, and let go of when nobody uses them any more.

A real server that is no longer wanted gets no new connections, and is deleted when its last one is over.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from typing import TypeVar

from fairway.kernel.ipvs import Ipvs, Load, Order, ServerName, Target, Verb
from fairway.proxy.ipvs import orders
from fairway.proxy.ipvs.draining import Draining
from fairway.proxy.ipvs.frontends import Frontend, Server
from fairway.proxy.ipvs.plan import Planner

T = TypeVar("T")


class Servers:
    def __init__(self, ipvs: Ipvs, clock: Callable[[], float]) -> None:
        self._ipvs, self._clock = ipvs, clock
        self._draining = Draining(clock)

    def change(
        self, servers: Mapping[Frontend, tuple[Server | None, Server | None]], planner: Planner
    ) -> None:
        given: list[Order] = []
        for frontend, (before, after) in servers.items():
            name = orders.name_of(frontend)
            known = orders.known_before(name, before, self._draining)
            given += orders.changes(name, known, after, self._draining)
        self._order(given, planner)

    def synchronise(self, planner: Planner) -> None:
        """From whatever the kernel holds. What an earlier process has begun to drain is drained on."""
        wanted, found = _wanted(planner), _ours(self._ipvs.servers(), planner)
        given: list[Order] = []
        self._draining = Draining(self._clock)
        for name in {**wanted, **found}:
            server = wanted.get(name)
            known = orders.as_known(found[name], server) if name in found else None
            given += orders.changes(name, known, server, self._draining)
        self._order(given, planner)

    def let_go(self, planner: Planner) -> None:
        """Delete what has been drained."""
        self._let_go({name: self._ipvs.loads(name) for name in self._draining.servers()}, planner)

    def are_there(self, planner: Planner) -> bool:
        """Whether there are just the virtual servers that should be."""
        wanted = {
            name: orders.balancing_of(s)._replace(flags=0) for name, s in self._present(planner).items()
        }
        return _ours(self._ipvs.names(), planner) == wanted

    def are_complete(self, planner: Planner) -> bool:
        """Whether each of them has just the real servers that it should have."""
        return all(
            self._has_targets(name, self._ipvs.loads(name), server)
            for name, server in self._present(planner).items()
        )

    def remove(self, planner: Planner) -> None:
        found = _ours(self._ipvs.names(), planner)
        self._ipvs.change([Order(Verb.DELETE_SERVER, name) for name in found])

    def _present(self, planner: Planner) -> dict[ServerName, Server]:
        return {
            name: server
            for name, server in _wanted(planner).items()
            if server.targets or self._draining.targets(name)
        }

    def _has_targets(self, name: ServerName, loads: Mapping[Target, Load], wanted: Server) -> bool:
        draining = dict.fromkeys(self._draining.targets(name), 0)
        return {t: load.weight for t, load in loads.items()} == draining | orders.targets_of(wanted)

    def _order(self, given: list[Order], planner: Planner) -> None:
        self._ipvs.change(given)
        drained = {order.server for order in given if order.verb is Verb.SET_TARGET and not order.weight}
        self._let_go({name: self._ipvs.loads(name) for name in drained}, planner)

    def _let_go(self, loads: Mapping[ServerName, Mapping[Target, Load]], planner: Planner) -> None:
        due = self._draining.due(loads)
        given = [Order(Verb.DELETE_TARGET, name, target=target) for name, target in due]
        for name, target in due:
            self._draining.end(name, target)
        for name in {name for name, _ in due}:
            planned = planner.server(orders.frontend_of(name))
            if not (planned and planned.targets) and not self._draining.targets(name):
                given.append(Order(Verb.DELETE_SERVER, name))
        self._ipvs.change(given)


def _wanted(planner: Planner) -> dict[ServerName, Server]:
    return {orders.name_of(frontend): server for frontend, server in planner.servers().items()}


def _ours(servers: Mapping[ServerName, T], planner: Planner) -> dict[ServerName, T]:
    """Without those in ranges that are someone else's."""
    excluded = [ipaddress.ip_network(text) for text in planner.around.settings.excluded_cidrs]
    if not excluded:
        return dict(servers)
    return {
        name: server
        for name, server in servers.items()
        if not name.address or not any(ipaddress.ip_address(name.address) in net for net in excluded)
    }
