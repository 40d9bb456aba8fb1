"""What a node's state means: the taints it bears, what its Pods are told, which of them have to go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairway.api.objects import Condition, Node, Pod, Taint, Toleration
from fairway.api.resources import NODES, PODS
from fairway.api.timestamps import seconds, stamp
from fairway.controllers.nodefit import UNSCHEDULABLE, tolerates
from fairway.controllers.pods import is_ready, is_terminal, is_terminating
from fairway.controllers.writes import Delete, Patch, Write

GRACE = 50.0  # how long a node may be silent
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
PRESSURES = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
OURS = frozenset((NOT_READY, UNREACHABLE, UNSCHEDULABLE.key, *PRESSURES.values()))
REPORTED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


def readiness(node: Node) -> str:
    """True, False or Unknown; a node that never said anything counts as unknown."""
    return next((c.status for c in node.status.conditions or () if c.type == "Ready"), "Unknown")


def plan_silence(node: Node, now: float) -> list[Write]:
    """A node not heard of for too long: what it last said of itself is no longer known."""
    if readiness(node) == "Unknown" and any(c.type == "Ready" for c in node.status.conditions or ()):
        return []
    kept = [c for c in node.status.conditions or () if c.type not in REPORTED]
    unknown = [
        Condition(kind, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", stamp(now))
        for kind in REPORTED
    ]
    patch = {
        "metadata": {"resourceVersion": node.metadata.resource_version},
        "status": {"conditions": [*kept, *unknown]},
    }
    return [Patch(NODES, "", node.metadata.name, patch, "status")]


def plan_taints(node: Node, now: float) -> list[Write]:
    """Taints follow the conditions; those of others are left alone."""
    current = node.spec.taints or []
    wanted = _wanted_taints(node)
    have = {(t.key, t.effect) for t in current if t.key in OURS}
    if have == set(wanted):
        return []
    kept = [t for t in current if t.key not in OURS or (t.key, t.effect) in wanted]
    added = [
        Taint(key, effect=effect, time_added=stamp(now) if effect == "NoExecute" else None)
        for key, effect in wanted
        if (key, effect) not in have
    ]
    metadata = {"resourceVersion": node.metadata.resource_version}
    patch: dict[str, Any] = {"metadata": metadata, "spec": {"taints": [*kept, *added] or None}}
    return [Patch(NODES, "", node.metadata.name, patch)]


def _wanted_taints(node: Node) -> list[tuple[str, str]]:
    wanted: list[tuple[str, str]] = []
    state = readiness(node)
    if state != "True":
        key = NOT_READY if state == "False" else UNREACHABLE
        wanted += [(key, "NoSchedule"), (key, "NoExecute")]
    for condition in node.status.conditions or ():
        if condition.type in PRESSURES and condition.status == "True":
            wanted.append((PRESSURES[condition.type], "NoSchedule"))
    if node.spec.unschedulable:
        wanted.append((UNSCHEDULABLE.key, UNSCHEDULABLE.effect))
    return wanted


def plan_unready_pods(node: Node, pods: Iterable[Pod], now: float) -> list[Write]:
    """Pods of a node that is not ready leave the endpoints: nobody can tell whether they still answer."""
    if readiness(node) == "True":
        return []
    writes: list[Write] = []
    for pod in pods:
        if is_terminal(pod) or not is_ready(pod):
            continue
        condition = Condition("Ready", "False", "NodeNotReady", "Node is not ready", stamp(now))
        others = [c for c in pod.status.conditions or () if c.type != "Ready"]
        patch = {
            "metadata": {"resourceVersion": pod.metadata.resource_version},
            "status": {"conditions": [*others, condition]},
        }
        writes.append(Patch(PODS, pod.metadata.namespace, pod.metadata.name, patch, "status"))
    return writes


def plan_evictions(node: Node, pods: Iterable[Pod], now: float) -> tuple[list[Write], float | None]:
    """Pods that don't tolerate a NoExecute taint, or no longer; and when the next one's patience ends."""
    taints = [t for t in node.spec.taints or () if t.effect == "NoExecute"]
    writes: list[Write] = []
    soonest: float | None = None
    for pod in pods:
        if is_terminating(pod) or is_terminal(pod):
            continue
        left = min((_patience(pod, taint, now) for taint in taints), default=float("inf"))
        if left <= 0:
            meta = pod.metadata
            writes.append(Delete(PODS, meta.namespace, meta.name, meta.uid))
        elif left != float("inf"):
            soonest = left if soonest is None else min(soonest, left)
    return writes, soonest


def _patience(pod: Pod, taint: Taint, now: float) -> float:
    """Seconds a Pod still bears a taint; for ever if a toleration sets no limit."""
    matching: list[Toleration] = [t for t in pod.spec.tolerations or () if tolerates(t, taint)]
    if not matching:
        return 0
    limits = [t.toleration_seconds for t in matching if t.toleration_seconds is not None]
    if not limits:
        return float("inf")
    since = seconds(taint.time_added)
    return (now if since is None else since) + max(0, min(limits)) - now
