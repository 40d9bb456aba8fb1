"""Which of a Service port's endpoints this node sends traffic to.

Decided once, purely, for all proxy modes: readiness, the fallback to terminating endpoints, traffic policies
and the hints that keep traffic near.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from fairway.proxy.model import Endpoint, ServicePort


@dataclass(frozen=True, slots=True)
class Place:
    """Where this proxy stands."""

    node: str
    zone: str = ""


class Pools(msgspec.Struct, frozen=True, gc=False):
    """The endpoints for policy Cluster and those for policy Local; `any` if there is one anywhere at all."""

    cluster: tuple[Endpoint, ...] = ()
    local: tuple[Endpoint, ...] = ()
    any: bool = False


def pools(port: ServicePort, endpoints: Sequence[Endpoint], place: Place) -> Pools:
    cluster = _cluster_pool(endpoints, place) if port.uses_cluster_endpoints else ()
    if not port.uses_local_endpoints:
        return Pools(cluster, (), bool(cluster))
    local = _ready_or_terminating([e for e in endpoints if e.node == place.node])
    return Pools(cluster, local, any(e.usable for e in endpoints))


def merge(endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
    """Each ip:port once, in order. It may be in two slices while it moves; the healthier entry counts."""
    if len(endpoints) < 2:
        return tuple(endpoints)
    best: dict[tuple[str, int], Endpoint] = {}
    for endpoint in endpoints:
        key = (endpoint.ip, endpoint.port)
        known = best.get(key)
        if known is None or _health(endpoint) > _health(known):
            best[key] = endpoint
    return tuple(best[key] for key in sorted(best))


def _health(endpoint: Endpoint) -> tuple[bool, bool]:
    return endpoint.ready, endpoint.serving


def _cluster_pool(endpoints: Sequence[Endpoint], place: Place) -> tuple[Endpoint, ...]:
    ready = [e for e in endpoints if e.ready]
    near = _hinted(ready, _node_hints, place.node) or _hinted(ready, _zone_hints, place.zone)
    return tuple(near or ready) or _ready_or_terminating(endpoints)


_node_hints = operator.attrgetter("node_hints")
_zone_hints = operator.attrgetter("zone_hints")


def _hinted(
    ready: Sequence[Endpoint], hints: Callable[[Endpoint], tuple[str, ...]], here: str
) -> list[Endpoint]:
    """Those meant for `here`; none unless every ready endpoint has a hint, as half a set is stale."""
    if not here or not all(hints(endpoint) for endpoint in ready):
        return []
    return [endpoint for endpoint in ready if here in hints(endpoint)]


def _ready_or_terminating(endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
    """Endpoints that are going away but still serve are better than none."""
    ready = tuple(e for e in endpoints if e.ready)
    return ready or tuple(e for e in endpoints if e.serving and e.terminating)
