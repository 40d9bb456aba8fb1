"""The next step of one Deployment: ReplicaSets to take over, make, size or remove, and its status.

A step at a time: the writes of one show in the cache at once and lead to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairway.api.objects import Pod
from fairway.api.resources import DEPLOYMENTS, REPLICA_SETS
from fairway.controllers.deployment import rollout
from fairway.controllers.deployment.progress import is_complete, next_deadline, status_of
from fairway.controllers.deployment.revisions import (
    REVISION,
    Fleet,
    annotations_for,
    fleet_of,
    new_replica_set,
    next_revision,
    revision_of,
    size_annotations,
)
from fairway.controllers.workloads import Deployment, DeploymentStatus, ReplicaSet, status_changes
from fairway.controllers.writes import Create, Delete, Notice, Patch, Plan, Write

HISTORY_LIMIT = 10


def plan(
    deployment: Deployment, sets: Iterable[ReplicaSet], pods: Mapping[str, Sequence[Pod]], now: float
) -> Plan:
    """Sets: the ReplicaSets the Deployment controls. Pods: by the uid of the ReplicaSet that has them."""
    fleet = fleet_of(deployment, sets)
    notices: list[Notice] = []
    writes: list[Write] = []
    if deployment.metadata.deletion_timestamp is None:
        writes += _next_step(deployment, fleet, pods, notices)
    created = next((w.name for w in writes if isinstance(w, Create)), None)
    status = status_of(deployment, fleet, created, now)
    if not writes and deployment.metadata.deletion_timestamp is None:
        writes += _clean_up(deployment, fleet, status)
    writes += _own_changes(deployment, fleet, status)
    return Plan(tuple(writes), tuple(notices), next_deadline(deployment, status, now))


def _next_step(
    deployment: Deployment, fleet: Fleet, pods: Mapping[str, Sequence[Pod]], notices: list[Notice]
) -> list[Write]:
    if fleet.new is not None and (sync := _new_set_in_sync(deployment, fleet, fleet.new)):
        return [sync]
    if deployment.spec.paused or rollout.is_scaling(deployment, fleet):
        return _resize(deployment, fleet, rollout.scale(deployment, fleet), notices)
    if deployment.spec.strategy.type == "Recreate":
        sizes = rollout.stop_old(fleet)
        if sizes or rollout.old_pods_run(fleet, pods):
            return _resize(deployment, fleet, sizes, notices)
    if fleet.new is None:
        return [_make(deployment, fleet, notices)]
    if deployment.spec.strategy.type == "Recreate":
        wanted = deployment.spec.replicas
        sizes = {fleet.new.metadata.name: wanted} if fleet.new.spec.replicas != wanted else {}
        return _resize(deployment, fleet, sizes, notices)
    return _resize(deployment, fleet, rollout.rolling_update(deployment, fleet), notices)


def _make(deployment: Deployment, fleet: Fleet, notices: list[Notice]) -> Create:
    size = rollout.size_of_new(deployment, fleet)
    made = new_replica_set(deployment, fleet, size)
    if size:
        notices.append(_scaled("up", made.name, 0, size))
    return made


def _resize(
    deployment: Deployment, fleet: Fleet, sizes: Mapping[str, int], notices: list[Notice]
) -> list[Write]:
    """Where the whole was scaled, every active set learns of the new total, resized or not."""
    writes: list[Write] = []
    totals = size_annotations(deployment)
    stale = rollout.is_scaling(deployment, fleet)
    for item in fleet.all:
        size = sizes.get(item.metadata.name, item.spec.replicas)
        if size == item.spec.replicas and not (stale and item in fleet.active):
            continue
        patch: dict[str, Any] = {"metadata": {"uid": item.metadata.uid, "annotations": totals}}
        if size != item.spec.replicas:
            patch["spec"] = {"replicas": size}
            way = "up" if size > item.spec.replicas else "down"
            notices.append(_scaled(way, item.metadata.name, item.spec.replicas, size))
        writes.append(Patch(REPLICA_SETS, item.metadata.namespace, item.metadata.name, patch))
    return writes


def _scaled(way: str, name: str, old: int, new: int) -> Notice:
    text = f"Scaled {way} replica set {name} from {old} to {new}"
    return Notice("ScalingReplicaSet", text)


def _new_set_in_sync(deployment: Deployment, fleet: Fleet, new: ReplicaSet) -> Patch | None:
    """Annotations, revision and minReadySeconds of the current ReplicaSet follow the Deployment."""
    notes = annotations_for(deployment, new, next_revision(fleet))
    before = new.metadata.annotations or {}
    patch: dict[str, Any] = {}
    if notes != before:
        changes = {name: value for name, value in notes.items() if before.get(name) != value}
        patch["metadata"] = {"uid": new.metadata.uid, "annotations": changes}
    if new.spec.min_ready_seconds != deployment.spec.min_ready_seconds:
        patch["spec"] = {"minReadySeconds": deployment.spec.min_ready_seconds}
    if not patch:
        return None
    return Patch(REPLICA_SETS, new.metadata.namespace, new.metadata.name, patch)


def _clean_up(deployment: Deployment, fleet: Fleet, status: DeploymentStatus) -> list[Write]:
    """Old, empty ReplicaSets beyond the history limit; never in the middle of a rollout."""
    if not (deployment.spec.paused or is_complete(deployment, status)):
        return []
    limit = deployment.spec.revision_history_limit
    alive = [item for item in fleet.old if item.metadata.deletion_timestamp is None]
    surplus = len(alive) - (HISTORY_LIMIT if limit is None else limit)
    oldest = sorted(alive, key=lambda item: revision_of(item.metadata))[: max(0, surplus)]
    metas = [item.metadata for item in oldest if _is_empty(item)]
    return [Delete(REPLICA_SETS, meta.namespace, meta.name, meta.uid) for meta in metas]


def _is_empty(item: ReplicaSet) -> bool:
    return (
        item.status.replicas == 0
        and item.spec.replicas == 0
        and item.metadata.generation <= item.status.observed_generation
    )


def _own_changes(deployment: Deployment, fleet: Fleet, status: DeploymentStatus) -> list[Write]:
    """The revision annotation, else the status: the one changes the resourceVersion the other is tied to."""
    meta = deployment.metadata
    revision = fleet.new.metadata.annotation(REVISION) if fleet.new else ""
    if revision and meta.annotation(REVISION) != revision and meta.deletion_timestamp is None:
        note = {"metadata": {"uid": meta.uid, "annotations": {REVISION: revision}}}
        return [Patch(DEPLOYMENTS, meta.namespace, meta.name, note)]
    changes = status_changes(deployment.status, status)
    if not changes:
        return []
    patch = {"metadata": {"resourceVersion": meta.resource_version}, "status": changes}
    return [Patch(DEPLOYMENTS, meta.namespace, meta.name, patch, "status")]
