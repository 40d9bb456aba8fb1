"""What one ReplicaSet has to write: Pods to adopt, let go, make or remove, and its status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.api.objects import Pod
from fairway.api.resources import PODS, Resource
from fairway.api.timestamps import stamp
from fairway.controllers.owners import adoption, claim, controller_reference, release
from fairway.controllers.pods import is_active, is_available, is_ready, seconds_to_available
from fairway.controllers.podtemplate import pod_from
from fairway.controllers.replicaset.ranking import in_order_of_removal
from fairway.controllers.selectors import contains
from fairway.controllers.workloads import ReplicaOwner, ReplicaSetStatus, WorkloadCondition, status_changes
from fairway.controllers.writes import Create, Delete, Patch

BURST = 500  # Pods made or removed in one go


@dataclass(frozen=True, slots=True)
class ReplicaPlan:
    adopt: tuple[Patch, ...]
    release: tuple[Patch, ...]
    create: tuple[Create, ...]
    delete: tuple[Delete, ...]
    look_again: float | None = None


def plan(
    owner: ReplicaOwner, candidates: Iterable[Pod], related: Sequence[Pod], now: float, kind: Resource
) -> ReplicaPlan:
    """Candidates: Pods the set owns and orphans of its namespace. `kind` is the owner's resource."""
    claimed = claim(owner.metadata, owner.spec.selector, [p for p in candidates if is_active(p)])
    reference = controller_reference(kind, owner.metadata)
    pods = [*claimed.owned, *claimed.adopt]
    missing = owner.spec.replicas - len(pods)
    create: tuple[Create, ...] = ()
    delete: tuple[Delete, ...] = ()
    if owner.metadata.deletion_timestamp is None:
        if missing > 0:
            new = pod_from(owner.spec.template, reference, owner.metadata.namespace)
            create = (new,) * min(missing, BURST)
        elif missing < 0:
            ranked = in_order_of_removal(pods, related, now)[: min(-missing, BURST)]
            delete = tuple(_removal(pod) for pod in ranked)
    return ReplicaPlan(
        adopt=tuple(adoption(PODS, pod.metadata, reference) for pod in claimed.adopt),
        release=tuple(release(PODS, pod.metadata, owner.metadata.uid) for pod in claimed.release),
        create=create,
        delete=delete,
        look_again=_next_availability(owner, claimed.owned, now),
    )


def _removal(pod: Pod) -> Delete:
    return Delete(PODS, pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def _next_availability(owner: ReplicaOwner, pods: Iterable[Pod], now: float) -> float | None:
    """When the next ready Pod will have been ready for long enough."""
    wait = owner.spec.min_ready_seconds
    due = [seconds_to_available(pod, wait, now) for pod in pods if is_ready(pod)]
    return min((delay for delay in due if delay > 0), default=None)


def plan_status(
    owner: ReplicaOwner,
    candidates: Iterable[Pod],
    failure: WorkloadCondition | None,
    now: float,
    kind: Resource,
) -> Patch | None:
    """Counts over the Pods the set has now; `failure` is the last attempt's, if Pods could not be made."""
    claimed = claim(owner.metadata, owner.spec.selector, [p for p in candidates if is_active(p)])
    pods = claimed.owned
    wanted = ((owner.spec.template.get("metadata") or {}).get("labels")) or {}
    status = ReplicaSetStatus(
        replicas=len(pods),
        fully_labeled_replicas=sum(contains(pod.metadata.labels or {}, wanted) for pod in pods),
        ready_replicas=sum(is_ready(pod) for pod in pods),
        available_replicas=sum(is_available(pod, owner.spec.min_ready_seconds, now) for pod in pods),
        observed_generation=owner.metadata.generation,
        conditions=_conditions(owner, failure, now),
    )
    changes: dict[str, Any] = status_changes(owner.status, status, always=("replicas",))
    if not changes:
        return None
    meta = owner.metadata
    patch = {"metadata": {"resourceVersion": meta.resource_version}, "status": changes}
    return Patch(kind, meta.namespace, meta.name, patch, "status")


def _conditions(
    owner: ReplicaOwner, failure: WorkloadCondition | None, now: float
) -> list[WorkloadCondition] | None:
    """Only ReplicaFailure is ours; it stands while Pods can't be made and goes when they can again."""
    others = [c for c in owner.status.conditions or () if c.type != "ReplicaFailure"]
    if failure is None:
        return others or None
    standing = next((c for c in owner.status.conditions or () if c.type == failure.type), None)
    if standing is not None and standing.reason == failure.reason:
        return [*others, standing]
    return [*others, replica_failure(failure.reason, failure.message, now)]


def replica_failure(reason: str, message: str, now: float) -> WorkloadCondition:
    return WorkloadCondition(
        type="ReplicaFailure", status="True", reason=reason, message=message, last_transition_time=stamp(now)
    )
