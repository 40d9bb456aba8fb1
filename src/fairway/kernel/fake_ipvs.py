"""IPVS without a kernel: remembers virtual servers and refuses what the kernel would."""

from __future__ import annotations

import errno
from collections.abc import Sequence

from fairway.kernel.ipvs import (
    Balancing,
    IpvsError,
    Load,
    Order,
    Passed,
    ServerName,
    Target,
    Verb,
    VirtualServer,
    refusal,
    unavailable,
)


class FakeIpvs:
    def __init__(self, present: bool = True) -> None:
        self.present = present
        self.orders: list[Order] = []
        self.fail_next = 0
        self._balancing: dict[ServerName, Balancing] = {}
        self._targets: dict[ServerName, dict[Target, Load]] = {}
        self._passed: dict[ServerName, Passed] = {}

    def require(self) -> None:
        if not self.present:
            raise unavailable(errno.ENOENT)

    def names(self) -> dict[ServerName, Balancing]:
        return {name: how._replace(flags=0) for name, how in self._balancing.items()}

    def servers(self) -> dict[ServerName, VirtualServer]:
        return {name: VirtualServer(how, self.loads(name)) for name, how in self.names().items()}

    def loads(self, server: ServerName) -> dict[Target, Load]:
        return dict(self._targets.get(server, {}))

    def passed(self) -> dict[ServerName, Passed]:
        return {name: self._passed.get(name, Passed(0, 0, 0)) for name in self._balancing}

    def carry(self, name: ServerName, passed: Passed) -> None:
        """Pretend that clients were served."""
        self._passed[name] = passed

    def held(self) -> dict[ServerName, VirtualServer]:
        """With their flags, which the kernel isn't asked for."""
        return {name: VirtualServer(how, self.loads(name)) for name, how in self._balancing.items()}

    def connect(self, name: ServerName, target: Target, active: int, inactive: int = 0) -> None:
        """Pretend that clients are connected."""
        self._targets[name][target] = self._targets[name][target]._replace(active=active, inactive=inactive)

    def change(self, orders: Sequence[Order]) -> None:
        if not orders:
            return
        self.require()
        failures = [failure for order in orders if (failure := self._carry_out(order)) is not None]
        if failures:
            raise failures[0]

    def close(self) -> None:
        return None

    def _carry_out(self, order: Order) -> IpvsError | None:
        if self.fail_next:
            self.fail_next -= 1
            return refusal(order, errno.ENOMEM)
        self.orders.append(order)
        if order.target is None:
            return self._server(order)
        return self._target(order, order.target)

    def _server(self, order: Order) -> IpvsError | None:
        exists = order.server in self._balancing
        if order.verb is Verb.DELETE_SERVER:
            self._balancing.pop(order.server, None)
            self._targets.pop(order.server, None)
            self._passed.pop(order.server, None)
            return None
        if exists is (order.verb is Verb.ADD_SERVER):
            return refusal(order, errno.EEXIST if exists else errno.ESRCH)
        assert order.balancing is not None
        self._balancing[order.server] = order.balancing
        self._targets.setdefault(order.server, {})
        return None

    def _target(self, order: Order, target: Target) -> IpvsError | None:
        targets = self._targets.get(order.server)
        if targets is None:
            return None if order.verb is Verb.DELETE_TARGET else refusal(order, errno.ESRCH)
        if order.verb is Verb.DELETE_TARGET:
            targets.pop(target, None)
            return None
        exists = target in targets
        if exists is (order.verb is Verb.ADD_TARGET):
            return refusal(order, errno.EEXIST if exists else errno.ENOENT)
        targets[target] = targets.get(target, Load(0))._replace(weight=order.weight)
        return None
