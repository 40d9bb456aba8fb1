"""On which node a Pod should run, or why on none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairway.api.objects import Condition, Node, Pod, Taint
from fairway.api.resources import PODS
from fairway.api.timestamps import stamp
from fairway.controllers.nodefit import (
    CORDONED,
    NO_MATCH,
    PORTS_TAKEN,
    UNSCHEDULABLE,
    host_ports,
    intolerable,
    matches_node,
    ports_clash,
    taints_of,
)
from fairway.controllers.pods import is_terminal, is_terminating
from fairway.controllers.scheduler.requests import lacking
from fairway.controllers.writes import Create, Notice, Patch, Plan

SCHEDULER = "default-scheduler"
FULL = "Too many pods"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The nodes, the Pods on each, and which Pods belong together with the one to place."""

    nodes: Sequence[Node]
    pods_on: Mapping[str, Sequence[Pod]]
    related: Callable[[Pod], bool]


def waits_for_a_node(pod: Pod) -> bool:
    return (
        not pod.spec.node_name
        and pod.spec.scheduler_name in ("", SCHEDULER)
        and not pod.spec.scheduling_gates
        and not is_terminating(pod)
        and not is_terminal(pod)
    )


def plan(pod: Pod, snapshot: Snapshot, now: float) -> Plan:
    """A binding, or the condition that says why there is none; nothing if that is said already."""
    fitting, reasons = _filter(pod, snapshot)
    if not fitting:
        return _unschedulable(pod, _explanation(len(snapshot.nodes), reasons), now)
    node = min(fitting, key=lambda n: _score(pod, n, snapshot)).metadata.name
    meta = pod.metadata
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    notice = Notice("Scheduled", f"Successfully assigned {meta.key} to {node}")
    return Plan((Create(PODS, meta.namespace, binding, "binding"),), (notice,))


def bound_to(plan: Plan) -> str | None:
    """The node a plan binds to."""
    for write in plan.writes:
        if isinstance(write, Create):
            return str(write.obj["target"]["name"])
    return None


def _filter(pod: Pod, snapshot: Snapshot) -> tuple[list[Node], Counter[str]]:
    fitting: list[Node] = []
    reasons: Counter[str] = Counter()
    for node in snapshot.nodes:
        against = _why_not(pod, node, snapshot.pods_on.get(node.metadata.name, ()))
        if not against:
            fitting.append(node)
        reasons.update(against)
    return fitting, reasons


def _why_not(pod: Pod, node: Node, present: Sequence[Pod]) -> list[str]:
    """The first thing against a node; of what it lacks, everything."""
    taint = intolerable(pod.spec, taints_of(node))
    if taint is not None:
        cordoned = taint.key == UNSCHEDULABLE.key
        return [CORDONED if cordoned else f"node(s) had untolerated taint {_shown(taint)}"]
    if not matches_node(pod.spec, node):
        return [NO_MATCH]
    running = [p for p in present if not is_terminal(p)]
    wanted = host_ports(pod.spec)
    if wanted and ports_clash(wanted, (taken for p in running for taken in host_ports(p.spec))):
        return [PORTS_TAKEN]
    allocatable = node.status.allocatable or {}
    capacity = allocatable.get("pods", "")
    full = [FULL] if capacity.isdecimal() and len(running) >= int(capacity) else []
    return full + [
        f"Insufficient {name}" for name in lacking(pod.spec, (p.spec for p in running), allocatable)
    ]


def _score(pod: Pod, node: Node, snapshot: Snapshot) -> tuple[int, int, int, str]:
    """Least wins: unwelcome last, then fewest of the same owner or Service, then fewest Pods at all."""
    running = [p for p in snapshot.pods_on.get(node.metadata.name, ()) if not is_terminal(p)]
    unwelcome = sum(
        intolerable(pod.spec, [taint], ("PreferNoSchedule",)) is not None for taint in node.spec.taints or ()
    )
    together = sum(snapshot.related(other) for other in running if not is_terminating(other))
    return unwelcome, together, len(running), node.metadata.name


def _shown(taint: Taint) -> str:
    return f"{{{taint.key}: {taint.value}}}"


def _explanation(nodes: int, reasons: Counter[str]) -> str:
    if not nodes:
        return "no nodes available to schedule pods"
    counted = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{nodes} nodes are available: {counted}."


def _unschedulable(pod: Pod, message: str, now: float) -> Plan:
    current = pod.status.condition("PodScheduled")
    if current and (current.status, current.reason, current.message) == ("False", "Unschedulable", message):
        return Plan()
    since = current.last_transition_time if current and current.status == "False" else stamp(now)
    condition = Condition("PodScheduled", "False", "Unschedulable", message, since)
    conditions = [*_others(pod.status.conditions or ()), condition]
    patch = {
        "metadata": {"resourceVersion": pod.metadata.resource_version},
        "status": {"conditions": conditions},
    }
    meta = pod.metadata
    notice = Notice("FailedScheduling", message, warning=True)
    return Plan((Patch(PODS, meta.namespace, meta.name, patch, "status"),), (notice,))


def _others(conditions: Iterable[Condition]) -> list[Condition]:
    return [c for c in conditions if c.type != "PodScheduled"]
