"""When a Pod that is to end may be told so: once nobody sends it new connections. Pure.

Proxies and DNS servers publish how far they are in Leases (`fairway-progress-…`); a Pod's SIGTERM waits
until each of them has passed the revision that took the Pod out of its EndpointSlices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from fairway.api.objects import ObjectMeta, ObjectReference, View
from fairway.api.progress import LEASE_PREFIX, PROGRAMMED


class SliceConditions(View, frozen=True):
    ready: bool | None = None


class SliceEndpoint(View, frozen=True):
    target_ref: ObjectReference | None = None
    conditions: SliceConditions = SliceConditions()


class Slice(View, frozen=True):
    """As much of an EndpointSlice as is needed here."""

    metadata: ObjectMeta = ObjectMeta()
    endpoints: list[SliceEndpoint] | None = None


class LeaseSpec(View, frozen=True):
    renew_time: str = ""
    lease_duration_seconds: int | None = None


class Lease(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


def removal_revision(slices: Iterable[Slice], uid: str) -> int | None:
    """The newest revision among the slices that hold the Pod; None while one still calls it ready.

    0 if no slice holds it: then nobody sends it anything.
    """
    newest = 0
    for item in slices:
        for endpoint in item.endpoints or ():
            if endpoint.target_ref and endpoint.target_ref.uid == uid:
                if endpoint.conditions.ready is not False:
                    return None
                newest = max(newest, _number(item.metadata.resource_version))
    return newest


def progress(leases: Iterable[Lease], now: float, given_up: Mapping[str, str]) -> dict[str, int]:
    """How far each one is that is still there. `given_up`: name and last sign of life of those too slow."""
    return {
        lease.metadata.name: _number(lease.metadata.annotation(PROGRAMMED))
        for lease in leases
        if lease.metadata.name.startswith(LEASE_PREFIX)
        and given_up.get(lease.metadata.name) != lease.spec.renew_time
        and _is_fresh(lease.spec, now)
    }


def _is_fresh(spec: LeaseSpec, now: float) -> bool:
    """Only a Lease that says how long it holds can run out; others are taken away by their owner."""
    if not spec.lease_duration_seconds:
        return True
    try:
        renewed = datetime.fromisoformat(spec.renew_time)
    except ValueError:
        return False
    return now - renewed.timestamp() <= spec.lease_duration_seconds


def laggards(
    slices: Iterable[Slice], leases: Iterable[Lease], uid: str, now: float, given_up: Mapping[str, str]
) -> frozenset[str] | None:
    """Who hasn't heard yet that the Pod is out; None while its slices themselves call it ready."""
    reached = progress(leases, now, given_up)
    if not reached:
        return frozenset()
    revision = removal_revision(slices, uid)
    if revision is None:
        return None
    return frozenset(name for name, value in reached.items() if value < revision)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
