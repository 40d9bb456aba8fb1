"""A Deployment's status: counts over its ReplicaSets, and the conditions that tell how a rollout goes."""

from __future__ import annotations

from collections.abc import Iterable

from fairway.api.timestamps import seconds, stamp
from fairway.controllers.bounds import max_unavailable
from fairway.controllers.deployment.revisions import Fleet
from fairway.controllers.workloads import Deployment, DeploymentStatus, WorkloadCondition

NO_DEADLINE = 2**31 - 1
COMPLETE, UPDATED, TIMED_OUT = "NewReplicaSetAvailable", "ReplicaSetUpdated", "ProgressDeadlineExceeded"
CREATED, FOUND = "NewReplicaSetCreated", "FoundNewReplicaSet"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"

Conditions = dict[str, WorkloadCondition]


def status_of(deployment: Deployment, fleet: Fleet, created: str | None, now: float) -> DeploymentStatus:
    """`created` names a ReplicaSet that this very look makes."""
    counts = _counts(deployment, fleet)
    conditions = {c.type: c for c in deployment.status.conditions or ()}
    _judge_pause(deployment, conditions, now)
    _judge_availability(deployment, counts, conditions, now)
    if not _has_deadline(deployment):
        conditions.pop("Progressing", None)
    elif not deployment.spec.paused:
        _announce(fleet, created, conditions, now)
        _judge_progress(deployment, fleet, counts, conditions, now)
    _pass_on_failures(fleet, conditions)
    return DeploymentStatus(
        replicas=counts.replicas,
        updated_replicas=counts.updated_replicas,
        ready_replicas=counts.ready_replicas,
        available_replicas=counts.available_replicas,
        unavailable_replicas=counts.unavailable_replicas,
        observed_generation=deployment.metadata.generation,
        collision_count=deployment.status.collision_count,
        conditions=list(conditions.values()) or None,
    )


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    wanted = deployment.spec.replicas
    return status.updated_replicas == status.replicas == status.available_replicas == wanted


def next_deadline(deployment: Deployment, status: DeploymentStatus, now: float) -> float | None:
    """When to look again whether a rollout has been stuck for too long."""
    condition = next((c for c in status.conditions or () if c.type == "Progressing"), None)
    if (
        condition is None
        or not _has_deadline(deployment)
        or condition.reason in (COMPLETE, TIMED_OUT, PAUSED)
    ):
        return None
    since = seconds(condition.last_update_time) or now
    return max(1.0, since + (deployment.spec.progress_deadline_seconds or 0) + 1 - now)


def _counts(deployment: Deployment, fleet: Fleet) -> DeploymentStatus:
    available = sum(item.status.available_replicas for item in fleet.all)
    return DeploymentStatus(
        replicas=sum(item.status.replicas for item in fleet.all),
        updated_replicas=fleet.new.status.replicas if fleet.new else 0,
        ready_replicas=sum(item.status.ready_replicas for item in fleet.all),
        available_replicas=available,
        unavailable_replicas=max(0, fleet.size - available),
    )


def _has_deadline(deployment: Deployment) -> bool:
    return (deployment.spec.progress_deadline_seconds or NO_DEADLINE) != NO_DEADLINE


def _set(conditions: Conditions, new: WorkloadCondition) -> None:
    """Unchanged conditions keep their times; a changed one moves to the end, as in Kubernetes."""
    old = conditions.get(new.type)
    if old is not None and (old.status, old.reason) == (new.status, new.reason):
        return
    conditions.pop(new.type, None)
    same = old is not None and old.status == new.status
    since = old.last_transition_time if old is not None and same else new.last_transition_time
    conditions[new.type] = WorkloadCondition(
        new.type, new.status, new.reason, new.message, since, new.last_update_time
    )


def _condition(kind: str, status: str, reason: str, message: str, now: float) -> WorkloadCondition:
    return WorkloadCondition(kind, status, reason, message, stamp(now), stamp(now))


def _judge_availability(
    deployment: Deployment, counts: DeploymentStatus, conditions: Conditions, now: float
) -> None:
    if counts.available_replicas >= deployment.spec.replicas - max_unavailable(deployment):
        said = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        said = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    _set(conditions, _condition("Available", *said, now))


def _judge_pause(deployment: Deployment, conditions: Conditions, now: float) -> None:
    """A pause stops the clock of the progress deadline; going on starts it anew."""
    current = conditions.get("Progressing")
    if not _has_deadline(deployment) or (current is not None and current.reason == TIMED_OUT):
        return
    paused = current is not None and current.reason == PAUSED
    if deployment.spec.paused and not paused:
        _set(conditions, _condition("Progressing", "Unknown", PAUSED, "Deployment is paused", now))
    elif not deployment.spec.paused and paused:
        _set(conditions, _condition("Progressing", "Unknown", RESUMED, "Deployment is resumed", now))


def _announce(fleet: Fleet, created: str | None, conditions: Conditions, now: float) -> None:
    if created is not None:
        message = f'Created new replica set "{created}"'
        _set(conditions, _condition("Progressing", "True", CREATED, message, now))
    elif fleet.new is not None and "Progressing" not in conditions:
        message = f'Found new replica set "{fleet.new.metadata.name}"'
        _set(conditions, _condition("Progressing", "True", FOUND, message, now))


def _judge_progress(
    deployment: Deployment, fleet: Fleet, counts: DeploymentStatus, conditions: Conditions, now: float
) -> None:
    current = conditions.get("Progressing")
    if current is not None and current.reason == COMPLETE and counts.replicas == counts.updated_replicas:
        return
    what = (
        f'ReplicaSet "{fleet.new.metadata.name}"' if fleet.new else f'Deployment "{deployment.metadata.name}"'
    )
    if is_complete(deployment, counts) and fleet.new is not None:
        _set(
            conditions,
            _condition("Progressing", "True", COMPLETE, f"{what} has successfully progressed.", now),
        )
    elif _made_progress(deployment.status, counts):
        conditions.pop("Progressing", None)
        since = current.last_transition_time if current and current.status == "True" else stamp(now)
        conditions["Progressing"] = WorkloadCondition(
            "Progressing", "True", UPDATED, f"{what} is progressing.", since, stamp(now)
        )
    elif current is not None and _is_overdue(deployment, current, now):
        _set(
            conditions,
            _condition("Progressing", "False", TIMED_OUT, f"{what} has timed out progressing.", now),
        )


def _made_progress(old: DeploymentStatus, new: DeploymentStatus) -> bool:
    return (
        new.updated_replicas > old.updated_replicas
        or new.replicas - new.updated_replicas < old.replicas - old.updated_replicas
        or new.ready_replicas > old.ready_replicas
        or new.available_replicas > old.available_replicas
    )


def _is_overdue(deployment: Deployment, current: WorkloadCondition, now: float) -> bool:
    if current.reason in (COMPLETE, PAUSED):
        return False
    since = seconds(current.last_update_time)
    return since is not None and since + (deployment.spec.progress_deadline_seconds or 0) < now


def _pass_on_failures(fleet: Fleet, conditions: Conditions) -> None:
    conditions.pop("ReplicaFailure", None)
    ordered: Iterable[WorkloadCondition] = (
        c
        for item in ((fleet.new, *fleet.old) if fleet.new else fleet.old)
        for c in item.status.conditions or ()
        if c.type == "ReplicaFailure"
    )
    for failure in ordered:
        conditions["ReplicaFailure"] = WorkloadCondition(
            failure.type,
            failure.status,
            failure.reason,
            failure.message,
            failure.last_transition_time,
            failure.last_transition_time,
        )
        return
