"""Which ports the relay opens for a Service port, and what the rules are told instead of its endpoints.

Pure. A Service port has up to two listeners: one among all endpoints, one among those of this node. To the
rules each is the one endpoint of its pool; so they decide who may come, and the relay whose turn it is.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from fairway.proxy.changes import PortState
from fairway.proxy.model import Endpoint, Family, Protocol, ServicePortName
from fairway.proxy.settings import Settings, in_family
from fairway.proxy.topology import Pools
from fairway.proxy.userspace.messages import Backend, Bound, Listener

States = Mapping[str, tuple[PortState, ...]]
POOLS = ("cluster", "local")


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the relay must be told before the rules change, and after that."""

    serve: tuple[Listener, ...] = ()
    forget: tuple[str, ...] = ()


class Planner:
    """Remembers the listeners of every Service, and answers with those that change."""

    def __init__(self, settings: Settings, own_addresses: Container[str]) -> None:
        self.settings, self.own_addresses = settings, own_addresses
        self.states: dict[str, tuple[PortState, ...]] = {}
        self._listeners: dict[str, tuple[Listener, ...]] = {}

    def update(self, changes: States) -> Assignment:
        serve: list[Listener] = []
        forget: list[str] = []
        for service, states in changes.items():
            before = self._listeners.pop(service, ())
            after = tuple(wanted for state in states for wanted in self._wanted(state))
            if after:
                self._listeners[service] = after
            self._remember(service, states)
            serve += [listener for listener in after if listener not in before]
            keys = {listener.key for listener in after}
            forget += [listener.key for listener in before if listener.key not in keys]
        return Assignment(tuple(serve), tuple(forget))

    def keys(self) -> list[str]:
        """Of every listener there should be."""
        return [listener.key for listeners in self._listeners.values() for listener in listeners]

    def _remember(self, service: str, states: tuple[PortState, ...]) -> None:
        if states:
            self.states[service] = states
        else:
            self.states.pop(service, None)

    def _wanted(self, state: PortState) -> Iterator[Listener]:
        port, name = state.port, state.port.name
        if not relayed(name):
            return
        inside = in_family(self.settings.cluster_cidrs, name.family)
        for pool, endpoints in zip(POOLS, (state.pools.cluster, state.pools.local), strict=True):
            if endpoints:
                shown = pool == "local" and port.external_local
                yield Listener(
                    key(name, pool),
                    name.protocol is Protocol.UDP,
                    name.family is Family.IPV6,
                    tuple(Backend(e.ip, e.port, shown and e.ip not in self.own_addresses) for e in endpoints),
                    port.affinity_seconds,
                    inside if shown else (),
                )


def relayed(name: ServicePortName) -> bool:
    """SCTP is not a stream of bytes; its Services are refused in this mode, as in kube-proxy's."""
    return name.protocol is not Protocol.SCTP


def key(name: ServicePortName, pool: str) -> str:
    return f"{name}/{name.family}/{pool}"


def redirected(state: PortState, bound: Mapping[str, Bound]) -> PortState:
    """The same Service port with the relay in the place of its endpoints."""
    port, pools = state.port, state.pools
    if port.affinity_seconds:
        port = msgspec.structs.replace(port, affinity_seconds=0)
    return PortState(
        port,
        Pools(
            _relay(bound.get(key(port.name, "cluster")) if pools.cluster else None),
            _relay(bound.get(key(port.name, "local")) if pools.local else None),
            pools.any and relayed(port.name),
        ),
    )


def _relay(bound: Bound | None) -> tuple[Endpoint, ...]:
    return (Endpoint(bound.address, bound.port),) if bound is not None and bound.port else ()
