"""The status a Pod reports: a pure function of what is observed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from fairway.nodeagent.objects import Condition, Container, Pod
from fairway.nodeagent.pods.model import Observed, Run
from fairway.nodeagent.pods.plan import delay, failed_init, is_sidecar, restart_due, restarts

Json = dict[str, Any]
CONTAINER_ID_SCHEME = "runc://"


def timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod_status(
    pod: Pod, seen: Observed, host_ip: str, now: float, previous: Sequence[Condition] | None = None
) -> Json:
    """`previous` are the conditions last written, for the times at which they changed."""
    phase = pod_phase(pod, seen)
    status: Json = {
        "phase": phase,
        "conditions": conditions(pod, seen, phase, now, previous),
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "startTime": pod.status.start_time or timestamp(now),
        "containerStatuses": [_container(pod, c, seen, now) for c in pod.spec.containers],
        "qosClass": qos_class(pod),
    }
    if pod.spec.init_containers:
        status["initContainerStatuses"] = [_container(pod, c, seen, now) for c in pod.spec.init_containers]
    if seen.pod_ip:
        status |= {"podIP": seen.pod_ip, "podIPs": [{"ip": seen.pod_ip}]}
    return status


# ---- phase -----------------------------------------------------------------------------------------------


def pod_phase(pod: Pod, seen: Observed) -> str:
    if failed_init(pod, seen):
        return "Failed"
    runs = [seen.runs.get(container.name) for container in pod.spec.containers]
    if not initialized(pod, seen) or any(run is None for run in runs):
        return "Pending"
    ended = [run for run in runs if run is not None and run.exit_code is not None]
    final = [
        run
        for container, run in zip(pod.spec.containers, runs, strict=True)
        if run is not None and run.exit_code is not None and not _comes_back(pod, container, run)
    ]
    if len(final) < len(runs):
        return "Running" if ended or any(run and run.running for run in runs) else "Pending"
    return "Succeeded" if all(run.succeeded for run in final) else "Failed"


def _comes_back(pod: Pod, container: Container, run: Run) -> bool:
    """A Pod that is being deleted starts nothing again."""
    return not pod.metadata.deletion_timestamp and restarts(pod, container, run)


def initialized(pod: Pod, seen: Observed) -> bool:
    for container in pod.spec.init_containers or ():
        run = seen.runs.get(container.name)
        done = seen.healthy(container.name).started if is_sidecar(container) else run and run.succeeded
        if not done and not _begun(pod, seen):
            return False
    return True


def _begun(pod: Pod, seen: Observed) -> bool:
    """Once a main container has run, the Pod stays initialized whatever its sidecars do."""
    return any(container.name in seen.runs for container in pod.spec.containers)


def qos_class(pod: Pod) -> str:
    everyone = [*(pod.spec.init_containers or ()), *pod.spec.containers]
    stated = [(c.resources.requests or {}, c.resources.limits or {}) for c in everyone]
    if not any(requests or limits for requests, limits in stated):
        return "BestEffort"
    guaranteed = all(
        limits.keys() >= {"cpu", "memory"}
        and all(requests.get(name, limits[name]) == limits[name] for name in ("cpu", "memory"))
        for requests, limits in stated
    )
    return "Guaranteed" if guaranteed else "Burstable"


# ---- conditions ------------------------------------------------------------------------------------------


def conditions(
    pod: Pod, seen: Observed, phase: str, now: float, previous: Sequence[Condition] | None = None
) -> list[Json]:
    before = {c.type: c for c in (pod.status.conditions if previous is None else previous) or ()}
    not_ready = [c.name for c in pod.spec.containers if not seen.healthy(c.name).ready]
    containers_ready = _readiness(phase, not_ready)
    wanted = [
        _initialized_condition(pod, seen, phase),
        _ready_condition(pod, before, containers_ready),
        {"type": "ContainersReady"} | containers_ready,
        {"type": "PodScheduled", "status": "True"},
    ]
    return [_dated(condition, before.get(condition["type"]), now) for condition in wanted]


def _readiness(phase: str, not_ready: list[str]) -> Json:
    if phase == "Succeeded":
        return {"status": "False", "reason": "PodCompleted"}
    if phase == "Failed":
        return {"status": "False", "reason": "PodFailed"}
    if not_ready:
        message = f"containers with unready status: [{' '.join(not_ready)}]"
        return {"status": "False", "reason": "ContainersNotReady", "message": message}
    return {"status": "True"}


def _initialized_condition(pod: Pod, seen: Observed, phase: str) -> Json:
    if initialized(pod, seen):
        completed = {"reason": "PodCompleted"} if phase == "Succeeded" else {}
        return {"type": "Initialized", "status": "True"} | completed
    missing = [
        c.name for c in pod.spec.init_containers or () if not (r := seen.runs.get(c.name)) or not r.succeeded
    ]
    message = f"containers with incomplete status: [{' '.join(missing)}]"
    return {
        "type": "Initialized",
        "status": "False",
        "reason": "ContainersNotInitialized",
        "message": message,
    }


def _ready_condition(pod: Pod, before: dict[str, Condition], containers_ready: Json) -> Json:
    ready = {"type": "Ready"} | containers_ready
    if containers_ready["status"] != "True":
        return ready
    complaints = [
        _gate_complaint(gate.condition_type, before.get(gate.condition_type))
        for gate in pod.spec.readiness_gates or ()
    ]
    if not any(complaints):
        return ready
    message = ", ".join(filter(None, complaints))
    return ready | {"status": "False", "reason": "ReadinessGatesNotReady", "message": message}


def _gate_complaint(kind: str, condition: Condition | None) -> str:
    if condition is None:
        return f'corresponding condition of pod readiness gate "{kind}" does not exist.'
    if condition.status != "True":
        return f'the status of pod readiness gate "{kind}" is not "True", but {condition.status}'
    return ""


def _dated(condition: Json, before: Condition | None, now: float) -> Json:
    unchanged = before is not None and before.status == condition["status"] and before.last_transition_time
    return {
        **condition,
        # Present even when empty, so that a strategic merge takes away what was said before.
        "reason": condition.get("reason"),
        "message": condition.get("message"),
        "lastTransitionTime": unchanged or timestamp(now),
    }


# ---- containers ------------------------------------------------------------------------------------------


def _container(pod: Pod, container: Container, seen: Observed, now: float) -> Json:
    run, before = seen.runs.get(container.name), seen.earlier.get(container.name)
    state, last = _states(pod, container, seen, now)
    health = seen.healthy(container.name)
    completed_init = (
        container in (pod.spec.init_containers or ()) and not is_sidecar(container) and run and run.succeeded
    )
    return {
        "name": container.name,
        "state": state,
        "lastState": last,
        "ready": bool(completed_init) or health.ready,
        "started": health.started,
        "restartCount": run.attempt if run else 0,
        "image": container.image,
        "imageID": run.image_id if run else (before.image_id if before else ""),
        **({"containerID": CONTAINER_ID_SCHEME + run.id} if run else {}),
    }


def _states(pod: Pod, container: Container, seen: Observed, now: float) -> tuple[Json, Json]:
    """The container's state and the one before it."""
    run, before = seen.runs.get(container.name), seen.earlier.get(container.name)
    waiting = seen.waiting.get(container.name)
    last = _terminated(before) if before else {}
    if run and run.running:
        return {"running": {"startedAt": timestamp(run.started_at)}}, last
    if run and not _comes_back(pod, container, run):
        return _terminated(run), last
    if waiting:
        return _waiting(waiting.reason, waiting.message), _terminated(run) if run else {}
    if run and now < restart_due(run):
        return _waiting("CrashLoopBackOff", _backoff_message(pod, container, run)), _terminated(run)
    if run:
        return _terminated(run), last
    if seen.sandbox_trouble:
        return _waiting("ContainerCreating", seen.sandbox_trouble.message), {}
    return _waiting("ContainerCreating" if initialized(pod, seen) else "PodInitializing"), {}


def _waiting(reason: str, message: str = "") -> Json:
    return {"waiting": {"reason": reason} | ({"message": message} if message else {})}


def _backoff_message(pod: Pod, container: Container, run: Run) -> str:
    meta = pod.metadata
    seconds = int(delay(run.crashes))
    text = f"{seconds // 60}m{seconds % 60}s" if seconds >= 60 else f"{seconds}s"
    return (
        f"back-off {text} restarting failed container={container.name} "
        f"pod={meta.name}_{meta.namespace}({meta.uid})"
    )


def _terminated(run: Run) -> Json:
    terminated: Json = {
        "exitCode": run.exit_code,
        "reason": run.reason or ("Completed" if run.succeeded else "Error"),
        "containerID": CONTAINER_ID_SCHEME + run.id,
    }
    if run.started_at:
        terminated["startedAt"] = timestamp(run.started_at)
    if run.finished_at:
        terminated["finishedAt"] = timestamp(run.finished_at)
    if run.message:
        terminated["message"] = run.message
    return {"terminated": terminated}
