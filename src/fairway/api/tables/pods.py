"""Rows of Pods: one word for the state of all containers, and how often and how recently they restarted.

The word is the most telling one: what keeps an init container from finishing, else what the first container
that isn't simply running says, else the phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fairway.api.tables.column import AGE, NAME, NONE, WIDE, Column, Printer, Printers, documented
from fairway.api.tables.durations import age, moment, since
from fairway.api.tables.reading import Object, at, entries, name_of, number, text

NODE_LOST: Final = "NodeLost"
TERMINAL_PHASES: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Initialisation:
    """How far the init containers of a Pod have come."""

    seen: list[Object]
    """Statuses in order, up to the one that is not through yet."""
    sidecars: list[Object]
    """Those among them that go on running beside the containers."""
    reason: str = ""
    """What holds it up; empty once all are through."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a row says of a Pod's containers."""

    ready: int
    reason: str
    restarted: Sequence[Object]
    """The statuses whose restarts count."""


def pod_cells(pod: Object, now: datetime) -> list[Any]:
    summary = summarise(pod)
    return [
        name_of(pod),
        f"{summary.ready}/{container_count(pod)}",
        deletion_reason(pod) or summary.reason,
        restarts(summary.restarted, now),
        age(pod, now),
        next((text(address, "ip") for address in entries(pod, "status", "podIPs")), "") or NONE,
        text(pod, "spec", "nodeName") or NONE,
        text(pod, "status", "nominatedNodeName") or NONE,
        readiness_gates(pod),
    ]


def container_count(pod: Object) -> int:
    return len(entries(pod, "spec", "containers")) + len(sidecar_names(pod))


def sidecar_names(pod: Object) -> set[str]:
    """Init containers that are restarted always start before the others and then run beside them."""
    containers = entries(pod, "spec", "initContainers")
    return {text(container, "name") for container in containers if container.get("restartPolicy") == "Always"}


def summarise(pod: Object) -> Summary:
    init = initialisation(pod)
    ready = sum(1 for status in init.sidecars if status.get("started") and status.get("ready"))
    reason = init.reason or pod_reason(pod)
    if init.reason and not has_condition(pod, "Initialized"):
        return Summary(ready, reason, init.seen)
    statuses = entries(pod, "status", "containerStatuses")
    running = [status for status in statuses if is_running(status) and status.get("ready")]
    reason = next(filter(None, map(state_reason, statuses)), reason)
    if reason == "Completed" and running:
        reason = "Running" if has_condition(pod, "Ready") else "NotReady"
    return Summary(ready + len(running), reason, [*init.sidecars, *statuses])


def pod_reason(pod: Object) -> str:
    """What the Pod as a whole says, before its containers are asked."""
    for condition in entries(pod, "status", "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return text(pod, "status", "reason") or text(pod, "status", "phase")


def deletion_reason(pod: Object) -> str:
    """A Pod that is being deleted says so, unless it had ended anyway."""
    if not text(pod, "metadata", "deletionTimestamp"):
        return ""
    if text(pod, "status", "reason") == NODE_LOST:
        return "Unknown"
    return "" if text(pod, "status", "phase") in TERMINAL_PHASES else "Terminating"


def initialisation(pod: Object) -> Initialisation:
    names = sidecar_names(pod)
    seen: list[Object] = []
    sidecars: list[Object] = []
    for index, status in enumerate(entries(pod, "status", "initContainerStatuses")):
        sidecar = status.get("name") in names
        seen.append(status)
        if sidecar:
            sidecars.append(status)
        if has_succeeded(status) or (sidecar and status.get("started")):
            continue
        total = len(entries(pod, "spec", "initContainers"))
        return Initialisation(seen, sidecars, f"Init:{init_reason(status) or f'{index}/{total}'}")
    return Initialisation(seen, sidecars)


def has_succeeded(status: Object) -> bool:
    terminated = at(status, "state", "terminated")
    return terminated is not None and not number(terminated, "exitCode")


def init_reason(status: Object) -> str:
    """`PodInitializing` says no more than that it is waiting its turn."""
    terminated = at(status, "state", "terminated")
    if terminated is not None:
        return exit_reason(terminated)
    waiting = text(status, "state", "waiting", "reason")
    return "" if waiting == "PodInitializing" else waiting


def state_reason(status: Object) -> str:
    """Why a container isn't running; empty if it is."""
    terminated = at(status, "state", "terminated")
    waiting = text(status, "state", "waiting", "reason")
    return waiting or (exit_reason(terminated) if terminated is not None else "")


def exit_reason(terminated: Object) -> str:
    reason, signal = text(terminated, "reason"), number(terminated, "signal")
    return reason or (f"Signal:{signal}" if signal else f"ExitCode:{number(terminated, 'exitCode')}")


def is_running(status: Object) -> bool:
    return at(status, "state", "running") is not None and not state_reason(status)


def restarts(statuses: Sequence[Object], now: datetime) -> str:
    """`3 (5m ago)`: how often, and when the last of the ended containers had ended."""
    count = sum(number(status, "restartCount") for status in statuses)
    ends = [moment(status, "lastState", "terminated", "finishedAt") for status in statuses]
    last = max((end for end in ends if end), default=None)
    return f"{count} ({since(last, now)} ago)" if count and last else str(count)


def has_condition(pod: Object, kind: str) -> bool:
    conditions = entries(pod, "status", "conditions")
    return any(
        condition.get("type") == kind and condition.get("status") == "True" for condition in conditions
    )


def readiness_gates(pod: Object) -> str:
    gates = [text(gate, "conditionType") for gate in entries(pod, "spec", "readinessGates")]
    return f"{sum(has_condition(pod, gate) for gate in gates)}/{len(gates)}" if gates else NONE


def pod_conditions(pod: Object) -> list[dict[str, str]]:
    """Marks the rows of Pods that have ended, so that clients may hide them."""
    messages = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}
    phase = text(pod, "status", "phase")
    if phase not in messages:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": messages[phase]}]


COLUMNS: Final = (
    NAME,
    Column("Ready", "The aggregate readiness state of this pod for accepting traffic."),
    Column("Status", "The aggregate status of the containers in this pod."),
    Column(
        "Restarts",
        "The number of times the containers in this pod have been restarted and when the last container in "
        "this pod has restarted.",
    ),
    AGE,
    documented("IP", "PodStatus.podIP", priority=WIDE),
    documented("Node", "PodSpec.nodeName", priority=WIDE),
    documented("Nominated Node", "PodStatus.nominatedNodeName", priority=WIDE),
    documented("Readiness Gates", "PodSpec.readinessGates", priority=WIDE),
)

PRINTERS: Final[Printers] = {("", "Pod"): Printer(COLUMNS, pod_cells, pod_conditions)}
