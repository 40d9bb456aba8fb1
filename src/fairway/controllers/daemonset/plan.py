"""The next step of one DaemonSet: a revision to record, Pods to make or remove, its status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairway.api.objects import Node, OwnerReference, Pod
from fairway.api.resources import DAEMON_SETS, PODS
from fairway.controllers.bounds import scaled
from fairway.controllers.daemonset.placement import REVISION_LABEL, new_pod, node_of, runs_on
from fairway.controllers.owners import controller_reference
from fairway.controllers.pods import is_available, is_ready, is_terminal, is_terminating, seconds_to_available
from fairway.controllers.revisionhistory import current_revision, surplus_revisions
from fairway.controllers.workloads import ControllerRevision, DaemonSet, DaemonSetStatus, status_changes
from fairway.controllers.writes import Create, Delete, Patch, Plan, Write

ALWAYS = ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")


@dataclass(frozen=True, slots=True)
class _Stage:
    """`pods` by node; `wanted` and `allowed`: nodes where one should be, and where one may stay."""

    owner: DaemonSet
    reference: OwnerReference
    pods: Mapping[str, Sequence[Pod]]
    wanted: Sequence[str]
    allowed: frozenset[str]
    revision: str
    now: float


def plan(
    owner: DaemonSet,
    pods: Sequence[Pod],
    history: Sequence[ControllerRevision],
    nodes: Iterable[Node],
    now: float,
) -> Plan:
    """Pods and history: those the set controls. Of a set that is going nothing is made any more."""
    if owner.metadata.deletion_timestamp is not None:
        return Plan()
    reference = controller_reference(DAEMON_SETS, owner.metadata)
    current = current_revision(
        owner.metadata, reference, owner.spec.template, history, REVISION_LABEL, owner.status.collision_count
    )
    if current.revision is None:
        return Plan((current.write,) if current.write else ())
    digest = current.revision.metadata.label(REVISION_LABEL)
    stage = _stage(owner, reference, pods, nodes, digest, now)
    in_use = {pod.metadata.label(REVISION_LABEL) for pod in pods} | {digest}
    live = frozenset(r.metadata.name for r in history if r.metadata.label(REVISION_LABEL) in in_use)
    surplus = surplus_revisions(history, live, owner.spec.revision_history_limit)
    writes: list[Write] = [*(_place(stage) or _update(stage)), *surplus, *_status_patch(stage)]
    return Plan(tuple(writes), look_again=_next_availability(stage))


def _stage(
    owner: DaemonSet,
    reference: OwnerReference,
    pods: Iterable[Pod],
    nodes: Iterable[Node],
    revision: str,
    now: float,
) -> _Stage:
    by_node: dict[str, list[Pod]] = {}
    for pod in sorted(pods, key=lambda p: (p.metadata.creation_timestamp or "", p.metadata.name)):
        by_node.setdefault(node_of(pod), []).append(pod)
    fits = {node.metadata.name: runs_on(owner, node) for node in nodes}
    wanted = sorted(name for name, (start, _) in fits.items() if start)
    allowed = frozenset(name for name, (_, stay) in fits.items() if stay)
    return _Stage(owner, reference, by_node, wanted, allowed, revision, now)


# ---- Pods ----------------------------------------------------------------------------------------------


def _place(stage: _Stage) -> list[Write]:
    """One Pod where there is none; none where there should not be; failed ones and doubles go."""
    writes: list[Write] = []
    for node in stage.wanted:
        pods = stage.pods.get(node, ())
        writes += [_remove(pod) for pod in pods if is_terminal(pod) and not is_terminating(pod)]
        alive = [pod for pod in pods if not is_terminal(pod) and not is_terminating(pod)]
        writes += [_remove(pod) for pod in alive[1:]]
        if not pods:
            writes.append(_make(stage, node))
    for node, pods in stage.pods.items():
        if node not in stage.allowed:
            writes += [_remove(pod) for pod in pods if not is_terminating(pod)]
    return writes


def _update(stage: _Stage) -> list[Write]:
    """Old Pods go while no more than maxUnavailable are missing; those that serve nobody go in any case."""
    strategy = stage.owner.spec.update_strategy
    if strategy.type != "RollingUpdate":
        return []
    value = strategy.rolling_update.max_unavailable if strategy.rolling_update else None
    budget = max(1, scaled(1 if value is None else value, len(stage.wanted), up=True))
    budget -= sum(not _available_on(stage, node) for node in stage.wanted)
    writes: list[Write] = []
    for node in stage.wanted:
        old = [pod for pod in stage.pods.get(node, ()) if _is_old(stage, pod)]
        if not old:
            continue
        if not _available_on(stage, node):
            writes += map(_remove, old)
        elif budget > 0:
            budget -= 1
            writes += map(_remove, old)
    return writes


def _is_old(stage: _Stage, pod: Pod) -> bool:
    return not is_terminating(pod) and pod.metadata.label(REVISION_LABEL) != stage.revision


def _available_on(stage: _Stage, node: str) -> bool:
    return any(_is_available(stage, pod) for pod in stage.pods.get(node, ()))


def _is_available(stage: _Stage, pod: Pod) -> bool:
    return not is_terminating(pod) and is_available(pod, stage.owner.spec.min_ready_seconds, stage.now)


def _make(stage: _Stage, node: str) -> Create:
    return new_pod(stage.owner, stage.reference, node, stage.revision)


def _remove(pod: Pod) -> Delete:
    return Delete(PODS, pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def _next_availability(stage: _Stage) -> float | None:
    wait = stage.owner.spec.min_ready_seconds
    ready = [pod for pods in stage.pods.values() for pod in pods if is_ready(pod)]
    due = [seconds_to_available(pod, wait, stage.now) for pod in ready]
    return min((delay for delay in due if delay > 0), default=None)


# ---- status --------------------------------------------------------------------------------------------


def _status_patch(stage: _Stage) -> list[Patch]:
    meta = stage.owner.metadata
    changes = status_changes(stage.owner.status, _status(stage), always=ALWAYS)
    if not changes:
        return []
    patch = {"metadata": {"resourceVersion": meta.resource_version}, "status": changes}
    return [Patch(DAEMON_SETS, meta.namespace, meta.name, patch, "status")]


def _status(stage: _Stage) -> DaemonSetStatus:
    first = {node: pods[0] for node, pods in stage.pods.items() if pods}
    placed = [first[node] for node in stage.wanted if node in first]
    available = sum(_is_available(stage, pod) for pod in placed)
    return DaemonSetStatus(
        desired_number_scheduled=len(stage.wanted),
        current_number_scheduled=len(placed),
        number_misscheduled=sum(node not in stage.wanted for node in first),
        number_ready=sum(is_ready(pod) for pod in placed),
        number_available=available,
        number_unavailable=len(stage.wanted) - available,
        updated_number_scheduled=sum(p.metadata.label(REVISION_LABEL) == stage.revision for p in placed),
        observed_generation=stage.owner.metadata.generation,
        collision_count=stage.owner.status.collision_count,
    )
