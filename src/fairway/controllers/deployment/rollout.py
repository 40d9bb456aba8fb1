"""How big each ReplicaSet of a Deployment should be next: rolling over, recreating, scaling.

Every function returns the sizes to change, by ReplicaSet name; empty means there is nothing to do now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fairway.api.objects import Pod
from fairway.controllers.bounds import max_surge, max_unavailable
from fairway.controllers.deployment.revisions import DESIRED, MAXIMUM, Fleet
from fairway.controllers.pods import is_terminal
from fairway.controllers.workloads import Deployment, ReplicaSet

Sizes = dict[str, int]


def rolling_update(deployment: Deployment, fleet: Fleet) -> Sizes:
    """Up first; down only when there is nothing left to bring up."""
    if fleet.new is None:
        return {}
    size = size_of_new(deployment, fleet)
    if size != fleet.new.spec.replicas:
        return {fleet.new.metadata.name: size}
    return _scale_down_old(deployment, fleet, fleet.new)


def size_of_new(deployment: Deployment, fleet: Fleet) -> int:
    """As many of the new as the surge leaves room for."""
    replicas = deployment.spec.replicas
    current = fleet.new.spec.replicas if fleet.new else 0
    if deployment.spec.strategy.type != "RollingUpdate" or current > replicas:
        return replicas
    room = replicas + max_surge(deployment) - fleet.size
    return current + min(max(room, 0), replicas - current)


def _scale_down_old(deployment: Deployment, fleet: Fleet, new: ReplicaSet) -> Sizes:
    if not any(item.spec.replicas for item in fleet.old):
        return {}
    minimum = deployment.spec.replicas - max_unavailable(deployment)
    new_unavailable = new.spec.replicas - new.status.available_replicas
    may_go = fleet.size - minimum - new_unavailable
    if may_go <= 0:
        return {}
    sizes = {item.metadata.name: item.spec.replicas for item in fleet.old}
    _drop_unhealthy(fleet.old, sizes, may_go)
    spare = sum(item.status.available_replicas for item in fleet.all) - minimum
    _drop_healthy(fleet.old, sizes, spare)
    return {s.metadata.name: n for s in fleet.old if (n := sizes[s.metadata.name]) != s.spec.replicas}


def _drop_unhealthy(sets: Iterable[ReplicaSet], sizes: Sizes, may_go: int) -> None:
    """Replicas that serve nobody go first; taking them costs no availability."""
    for item in sets:
        dead = max(0, sizes[item.metadata.name] - item.status.available_replicas)
        count = min(may_go, dead)
        sizes[item.metadata.name] -= count
        may_go -= count


def _drop_healthy(sets: Iterable[ReplicaSet], sizes: Sizes, spare: int) -> None:
    for item in sets:
        count = min(max(spare, 0), sizes[item.metadata.name])
        sizes[item.metadata.name] -= count
        spare -= count


def stop_old(fleet: Fleet) -> Sizes:
    return {item.metadata.name: 0 for item in fleet.old if item.spec.replicas > 0}


def old_pods_run(fleet: Fleet, pods: Mapping[str, Sequence[Pod]]) -> bool:
    """Whether anything of an old revision is left, terminating Pods included. `pods` is by ReplicaSet uid."""
    return any(
        item.status.replicas > 0 or any(not is_terminal(pod) for pod in pods.get(item.metadata.uid, ()))
        for item in fleet.old
    )


# ---- scaling -------------------------------------------------------------------------------------------


def is_scaling(deployment: Deployment, fleet: Fleet) -> bool:
    """The number of replicas was changed, as opposed to the template."""
    wanted = str(deployment.spec.replicas)
    return any(item.metadata.annotation(DESIRED, wanted) != wanted for item in fleet.active)


def scale(deployment: Deployment, fleet: Fleet) -> Sizes:
    """One active set takes it all; in the middle of a rollout each takes its share."""
    active, replicas = fleet.active, deployment.spec.replicas
    if len(active) <= 1:
        only = active[0] if active else fleet.new or (fleet.old[-1] if fleet.old else None)
        return {only.metadata.name: replicas} if only and only.spec.replicas != replicas else {}
    if _is_saturated(deployment, fleet.new):
        return stop_old(fleet)
    if deployment.spec.strategy.type == "RollingUpdate":
        return _proportional(deployment, active)
    return {}


def _is_saturated(deployment: Deployment, new: ReplicaSet | None) -> bool:
    wanted = deployment.spec.replicas
    return (
        new is not None
        and new.spec.replicas == wanted
        and new.status.available_replicas == wanted
        and new.metadata.annotation(DESIRED) == str(wanted)
    )


def _proportional(deployment: Deployment, active: Sequence[ReplicaSet]) -> Sizes:
    allowed = deployment.spec.replicas + max_surge(deployment) if deployment.spec.replicas else 0
    to_add = allowed - sum(item.spec.replicas for item in active)
    # Biggest first; among equals the newest when growing, the oldest when shrinking.
    ordered = sorted(active, key=lambda s: s.metadata.creation_timestamp or "", reverse=to_add > 0)
    ordered.sort(key=lambda item: -item.spec.replicas)
    sizes, added = {}, 0
    for item in ordered:
        share = _share(item, allowed, to_add - added) if to_add else 0
        sizes[item.metadata.name] = item.spec.replicas + share
        added += share
    first = ordered[0].metadata.name
    sizes[first] = max(0, sizes[first] + to_add - added)
    return {s.metadata.name: n for s in active if (n := sizes[s.metadata.name]) != s.spec.replicas}


def _share(item: ReplicaSet, allowed: int, left: int) -> int:
    """The part of the change that falls to a set of this size, never beyond what is left of it."""
    text = item.metadata.annotation(MAXIMUM)
    before = int(text) if text.isdecimal() and int(text) > 0 else item.spec.replicas
    fraction = round(item.spec.replicas * allowed / before) - item.spec.replicas
    return min(fraction, left) if left > 0 else max(fraction, left)
