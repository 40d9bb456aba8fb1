"""ServiceCIDRs come to life and go: their finalizer and Ready condition, and the cluster's own range.

Thin: what a range needs is planned in `cidrs`; here it is looked for, and done.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairway.api.kind import Obj
from fairway.api.kinds.networking import SERVICE_CIDR
from fairway.api.metadata import timestamp
from fairway.api.resources import IP_ADDRESSES, SERVICE_CIDRS
from fairway.apiserver.allocators.addresses import DEFAULT_RANGE
from fairway.apiserver.allocators.cidrs import DEFAULT_READY, FINALIZER, RangeStep, Readiness, plan_ranges
from fairway.apiserver.allocators.ranges import Network
from fairway.apiserver.allocators.services import ALLOCATOR, MANAGED_BY
from fairway.apiserver.commit import Committer
from fairway.apiserver.parts import MAIN, STATUS, unjudged


class RangeKeeper:
    def __init__(self, committer: Committer, networks: Sequence[Network]) -> None:
        self._committer = committer
        self._networks = networks
        self._seen = -1

    async def look(self) -> None:
        """Do what is to be done, if anything happened since the last look."""
        store = self._committer.store
        cidrs, addresses = store.bucket(SERVICE_CIDRS), store.bucket(IP_ADDRESSES)
        ending = any(b'"deletionTimestamp"' in entry.body for entry in cidrs.entries.values())
        since = self._seen
        if not cidrs.feed.since(since) and not (ending and addresses.feed.since(since)) and since >= 0:
            return
        self._seen = store.revision
        if DEFAULT_RANGE not in cidrs.entries:
            await ensure_default_range(self._committer, self._networks)
        taken = [
            entry.name for entry in addresses.entries.values() if entry.labels.get(MANAGED_BY) == ALLOCATOR
        ]
        for step in plan_ranges([entry.obj() for entry in cidrs.in_order()], taken):
            await self._take(step)

    async def _take(self, step: RangeStep) -> None:
        if step.protect or step.release:
            await self._committer.update(
                SERVICE_CIDR,
                step.name,
                lambda old: with_finalizer(old, wanted=step.protect),
                part=unjudged(MAIN),
            )
        if step.readiness:
            await set_readiness(self._committer, step.name, step.readiness)


async def ensure_default_range(committer: Committer, networks: Sequence[Network]) -> None:
    """The ServiceCIDR `kubernetes`: the ranges that the server was started with."""
    cidrs = [str(network) for network in networks]
    if DEFAULT_RANGE in committer.store.bucket(SERVICE_CIDRS).entries:
        await committer.update(
            SERVICE_CIDR,
            DEFAULT_RANGE,
            lambda old: {**old, "spec": {"cidrs": cidrs}},
            part=unjudged(MAIN),
        )
    else:
        wanted: Obj = {"metadata": {"name": DEFAULT_RANGE}, "spec": {"cidrs": cidrs}}
        await committer.create(SERVICE_CIDR, wanted, "")
    await set_readiness(committer, DEFAULT_RANGE, DEFAULT_READY)


async def set_readiness(committer: Committer, name: str, readiness: Readiness) -> None:
    condition = {
        "type": "Ready",
        "status": readiness.status,
        "reason": readiness.reason,
        "message": readiness.message,
        "lastTransitionTime": timestamp(committer.clock()),
    }

    def change(old: Obj) -> Obj:
        if not readiness.stands_in(old):
            others = [c for c in (old.get("status") or {}).get("conditions") or () if c["type"] != "Ready"]
            old["status"] = {"conditions": [*others, condition]}
        return old

    await committer.update(SERVICE_CIDR, name, change, part=unjudged(STATUS))


def with_finalizer(service_cidr: Obj, *, wanted: bool) -> Obj:
    metadata = service_cidr["metadata"]
    finalizers = [each for each in metadata.get("finalizers") or () if each != FINALIZER]
    finalizers += [FINALIZER] if wanted else []
    rest = {name: value for name, value in metadata.items() if name != "finalizers"}
    return {**service_cidr, "metadata": {**rest, "finalizers": finalizers} if finalizers else rest}
