"""The next step of one StatefulSet: a revision to record, Pods to make or remove, its status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairway.api.objects import OwnerReference, Pod
from fairway.api.resources import PODS, STATEFUL_SETS
from fairway.controllers.bounds import scaled
from fairway.controllers.owners import controller_reference
from fairway.controllers.pods import is_available, is_ready, is_terminal, is_terminating, seconds_to_available
from fairway.controllers.revisionhistory import current_revision, surplus_revisions, template_of
from fairway.controllers.statefulset.claims import new_claims, unclaimed
from fairway.controllers.statefulset.identity import identity_repair, new_pod, ordinal_of, revision_of
from fairway.controllers.workloads import ControllerRevision, StatefulSet, StatefulSetStatus, status_changes
from fairway.controllers.writes import Create, Delete, Notice, Patch, Plan, Write

HASH_LABEL = "controller.kubernetes.io/hash"


@dataclass(frozen=True, slots=True)
class _Stage:
    """Everything a step is decided on. `running` is the revision before an update, `wanted` the one after."""

    owner: StatefulSet
    reference: OwnerReference
    pods: dict[int, Pod]
    running: ControllerRevision
    wanted: ControllerRevision
    now: float
    claims: bool

    @property
    def ordinals(self) -> range:
        start = self.owner.spec.ordinals.start
        return range(start, start + self.owner.spec.replicas)

    @property
    def in_order(self) -> bool:
        return self.owner.spec.pod_management_policy != "Parallel"

    @property
    def partition(self) -> int:
        rolling = self.owner.spec.update_strategy.rolling_update
        return self.owner.spec.ordinals.start + (rolling.partition if rolling else 0)

    @property
    def max_unavailable(self) -> int:
        rolling = self.owner.spec.update_strategy.rolling_update
        value = rolling.max_unavailable if rolling and rolling.max_unavailable is not None else 1
        return max(1, scaled(value, self.owner.spec.replicas, up=False))


def plan(
    owner: StatefulSet,
    pods: Sequence[Pod],
    history: Sequence[ControllerRevision],
    now: float,
    *,
    claims: bool = False,
) -> Plan:
    """Pods and history: those the set controls; `claims`: whether the server has PersistentVolumeClaims.

    Of a set that is going nothing is made any more.
    """
    if owner.metadata.deletion_timestamp is not None:
        return Plan()
    reference = controller_reference(STATEFUL_SETS, owner.metadata)
    current = current_revision(
        owner.metadata, reference, owner.spec.template, history, HASH_LABEL, owner.status.collision_count
    )
    if current.revision is None:
        return Plan((current.write,) if current.write else ())
    before = next((r for r in history if r.metadata.name == owner.status.current_revision), current.revision)
    numbered = {n: pod for pod in pods if (n := ordinal_of(owner.metadata, pod)) is not None}
    stage = _Stage(owner, reference, numbered, before, current.revision, now, claims)
    live = frozenset({before.metadata.name, current.revision.metadata.name, *map(revision_of, pods)})
    surplus = surplus_revisions(history, live, owner.spec.revision_history_limit)
    step = _next_step(stage)
    writes: list[Write] = [*step, *surplus, *_status_patch(stage)]
    return Plan(tuple(writes), _notices(stage, step), _next_availability(stage))


def _notices(stage: _Stage, step: Iterable[Write]) -> tuple[Notice, ...]:
    if stage.claims or not stage.owner.spec.volume_claim_templates:
        return ()
    made = [write.name for write in step if isinstance(write, Create) and write.resource == PODS]
    return tuple(unclaimed(stage.owner, name) for name in made)


# ---- Pods ----------------------------------------------------------------------------------------------


def _next_step(stage: _Stage) -> list[Write]:
    """First complete the set, then shrink it, then update it; in order, one Pod at a time."""
    writes, waits = _complete(stage)
    if waits or (writes and stage.in_order):
        return writes
    more, waits = _shrink(stage)
    writes += more
    if waits or writes:
        return writes
    return _update(stage)


def _complete(stage: _Stage) -> tuple[list[Write], bool]:
    """Makes the Pods that are missing; whether an unready one holds the next one back."""
    writes: list[Write] = []
    for ordinal in stage.ordinals:
        pod = stage.pods.get(ordinal)
        if pod is None:
            writes += _make(stage, ordinal)
        elif is_terminal(pod) and not is_terminating(pod):
            writes.append(_remove(pod))
        elif stage.in_order and not _is_settled(stage, pod):
            return writes, True
        elif not is_terminating(pod):
            writes += identity_repair(stage.owner.metadata, pod)
        if writes and stage.in_order:
            return writes, False
    return writes, False


def _shrink(stage: _Stage) -> tuple[list[Write], bool]:
    """Removes the highest numbers beyond the size; in order only while everybody else is well."""
    condemned = sorted((n for n in stage.pods if n not in stage.ordinals), reverse=True)
    if not stage.in_order:
        return [_remove(stage.pods[n]) for n in condemned if not is_terminating(stage.pods[n])], False
    for number in condemned:
        pod = stage.pods[number]
        if is_terminating(pod):
            return [], True
        unwell = [n for n in condemned if n < number and not _is_settled(stage, stage.pods[n])]
        if not _is_settled(stage, pod) and unwell:
            return [], True
        return [_remove(pod)], True
    return [], False


def _update(stage: _Stage) -> list[Write]:
    """From the highest number down to the partition, while no more than maxUnavailable are not available.

    Where Pods need not wait for one another, old ones that serve nobody go at once: that costs nothing.
    """
    if stage.owner.spec.update_strategy.type == "OnDelete":
        return []
    missing = sum(not _is_settled(stage, stage.pods[n]) for n in stage.ordinals if n in stage.pods)
    budget = max(0, stage.max_unavailable - missing)
    old = [
        stage.pods[n]
        for n in reversed(stage.ordinals)
        if n >= stage.partition and n in stage.pods and _is_old(stage, stage.pods[n])
    ]
    if stage.in_order:
        return [_remove(pod) for pod in old[:budget]]
    useless = [pod for pod in old if not _is_settled(stage, pod)]
    serving = [pod for pod in old if _is_settled(stage, pod)]
    return [_remove(pod) for pod in (*useless, *serving[:budget])]


def _is_old(stage: _Stage, pod: Pod) -> bool:
    return not is_terminating(pod) and revision_of(pod) != stage.wanted.metadata.name


def _make(stage: _Stage, ordinal: int) -> list[Write]:
    """Below the partition of a rolling update a Pod comes back as it was."""
    rolling = stage.owner.spec.update_strategy.type == "RollingUpdate"
    revision = stage.running if rolling and ordinal < stage.partition else stage.wanted
    name, template = revision.metadata.name, template_of(revision)
    pod = new_pod(stage.owner, stage.reference, template, name, ordinal, claims=stage.claims)
    return [*(new_claims(stage.owner, pod.name) if stage.claims else ()), pod]


def _remove(pod: Pod) -> Delete:
    return Delete(PODS, pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def _is_running_and_ready(pod: Pod) -> bool:
    return pod.status.phase == "Running" and is_ready(pod)


def _is_settled(stage: _Stage, pod: Pod) -> bool:
    available = is_available(pod, stage.owner.spec.min_ready_seconds, stage.now)
    return _is_running_and_ready(pod) and available and not is_terminating(pod)


def _next_availability(stage: _Stage) -> float | None:
    wait = stage.owner.spec.min_ready_seconds
    due = [seconds_to_available(pod, wait, stage.now) for pod in stage.pods.values() if is_ready(pod)]
    return min((delay for delay in due if delay > 0), default=None)


# ---- status --------------------------------------------------------------------------------------------


def _status_patch(stage: _Stage) -> list[Patch]:
    meta = stage.owner.metadata
    always = ("replicas", "availableReplicas")
    changes = status_changes(stage.owner.status, _status(stage), always=always)
    if not changes:
        return []
    patch = {"metadata": {"resourceVersion": meta.resource_version}, "status": changes}
    return [Patch(STATEFUL_SETS, meta.namespace, meta.name, patch, "status")]


def _status(stage: _Stage) -> StatefulSetStatus:
    pods, owner = list(stage.pods.values()), stage.owner
    staying = [pod for pod in pods if not is_terminating(pod)]
    ready = [pod for pod in pods if _is_running_and_ready(pod)]
    running, wanted = stage.running.metadata.name, stage.wanted.metadata.name
    current = sum(revision_of(pod) == running for pod in staying)
    updated = sum(revision_of(pod) == wanted for pod in staying)
    rolling = owner.spec.update_strategy.type == "RollingUpdate"
    if rolling and len(pods) == updated == len(ready) == owner.spec.replicas:
        running, current = wanted, updated  # the update is complete
    return StatefulSetStatus(
        replicas=len(pods),
        ready_replicas=len(ready),
        available_replicas=sum(is_available(p, owner.spec.min_ready_seconds, stage.now) for p in ready),
        current_replicas=current,
        updated_replicas=updated,
        current_revision=running,
        update_revision=wanted,
        observed_generation=owner.metadata.generation,
        collision_count=owner.status.collision_count,
    )
