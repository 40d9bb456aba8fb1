"""The next step of one DaemonSet: a revision to record, Pods to make or remove, its status."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from fairway.api.objects import Node, Pod
from fairway.api.resources import DAEMON_SETS
from fairway.controllers.daemonset.placement import REVISION_LABEL
from fairway.controllers.daemonset.rollout import update
from fairway.controllers.daemonset.stage import Stage, remove, stage
from fairway.controllers.owners import controller_reference
from fairway.controllers.pods import is_ready, is_terminal, is_terminating, seconds_to_available
from fairway.controllers.revisionhistory import current_revision, surplus_revisions
from fairway.controllers.workloads import ControllerRevision, DaemonSet, DaemonSetStatus, status_changes
from fairway.controllers.writes import Patch, Plan, Write

ALWAYS = ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")


def plan(
    owner: DaemonSet,
    pods: Sequence[Pod],
    history: Sequence[ControllerRevision],
    nodes: Iterable[Node],
    now: float,
    patience: Collection[str] = (),
) -> Plan:
    """Pods and history: those the set controls. On the nodes in `patience` a failed Pod stays for a while.

    Of a set that is going nothing is made any more.
    """
    if owner.metadata.deletion_timestamp is not None:
        return Plan()
    reference = controller_reference(DAEMON_SETS, owner.metadata)
    current = current_revision(
        owner.metadata, reference, owner.spec.template, history, REVISION_LABEL, owner.status.collision_count
    )
    if current.revision is None:
        return Plan((current.write,) if current.write else ())
    digest = current.revision.metadata.label(REVISION_LABEL)
    found = stage(owner, reference, pods, nodes, digest, now)
    surplus = surplus_revisions(
        [revision for revision in history if revision is not current.revision],
        frozenset(_in_use(pods, history)),
        owner.spec.revision_history_limit,
        live_count=True,
    )
    writes: list[Write] = [*(_place(found, patience) or update(found)), *surplus, *_status_patch(found)]
    return Plan(tuple(writes), look_again=_next_availability(found))


def _in_use(pods: Iterable[Pod], history: Iterable[ControllerRevision]) -> Iterable[str]:
    digests = {pod.metadata.label(REVISION_LABEL) for pod in pods}
    return (r.metadata.name for r in history if r.metadata.label(REVISION_LABEL) in digests)


# ---- Pods ----------------------------------------------------------------------------------------------


def _place(stage: Stage, patience: Collection[str]) -> list[Write]:
    """One Pod where there is none; none where there should not be; ended ones and doubles go."""
    writes: list[Write] = []
    for node in sorted({*stage.wanted, *stage.pods}):
        pods = stage.pods.get(node, ())
        if node in stage.wanted and not pods:
            writes.append(stage.make(node))
        elif node in stage.allowed:
            writes += _tidy(stage, node, pods, patience)
        else:
            # Of a node that is gone, Pods that ran there are the Pod garbage collector's.
            lost = [pod for pod in pods if node in stage.nodes or not pod.spec.node_name]
            writes += [remove(pod) for pod in lost if not is_terminating(pod)]
    return writes


def _tidy(stage: Stage, node: str, pods: Sequence[Pod], patience: Collection[str]) -> list[Write]:
    staying = [pod for pod in pods if not is_terminating(pod)]
    ended = [pod for pod in staying if is_terminal(pod)]
    running = [pod for pod in staying if not is_terminal(pod)]
    writes: list[Write] = [
        remove(pod) for pod in ended if pod.status.phase == "Succeeded" or node not in patience
    ]
    if not stage.surges:
        return writes + [remove(pod) for pod in running[1:]]
    if not running and node in stage.wanted:
        writes.append(stage.make(node))
    return writes + [remove(pod) for pod in _doubles(stage, running)]


def _doubles(stage: Stage, running: Sequence[Pod]) -> list[Pod]:
    """One old and one new Pod may share a node while the old one serves and the new one does not yet."""
    new = [pod for pod in running if stage.is_new(pod)]
    old = [pod for pod in running if not stage.is_new(pod)]
    superseded = new and old and (not is_ready(old[0]) or stage.is_available(new[0]))
    return [*new[1:], *(old if superseded else old[1:])]


def _next_availability(stage: Stage) -> float | None:
    wait = stage.owner.spec.min_ready_seconds
    ready = [pod for pods in stage.pods.values() for pod in pods if is_ready(pod)]
    due = [seconds_to_available(pod, wait, stage.now) for pod in ready]
    return min((delay for delay in due if delay > 0), default=None)


# ---- status --------------------------------------------------------------------------------------------


def _status_patch(stage: Stage) -> list[Patch]:
    meta = stage.owner.metadata
    changes = status_changes(stage.owner.status, _status(stage), always=ALWAYS)
    if not changes:
        return []
    patch = {"metadata": {"resourceVersion": meta.resource_version}, "status": changes}
    return [Patch(DAEMON_SETS, meta.namespace, meta.name, patch, "status")]


def _status(stage: Stage) -> DaemonSetStatus:
    first = {node: pods[0] for node, pods in stage.pods.items() if node in stage.nodes}
    placed = [first[node] for node in stage.wanted if node in first]
    available = sum(stage.is_available(pod) for pod in placed)
    return DaemonSetStatus(
        desired_number_scheduled=len(stage.wanted),
        current_number_scheduled=len(placed),
        number_misscheduled=sum(node not in stage.wanted for node in first),
        number_ready=sum(is_ready(pod) for pod in placed),
        number_available=available,
        number_unavailable=len(stage.wanted) - available,
        updated_number_scheduled=sum(stage.is_new(pod) for pod in placed),
        observed_generation=stage.owner.metadata.generation,
        collision_count=stage.owner.status.collision_count,
    )
