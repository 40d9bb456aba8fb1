"""What to do next for a Pod that should live: from what is wanted and what is observed to steps. Pure.

Ending a Pod is a fixed sequence and has its own place (`termination`).
"""

from __future__ import annotations

from dataclasses import dataclass

from fairway.nodeagent.objects import Container, Pod
from fairway.nodeagent.pods.model import Observed, Run

FIRST_DELAY = 10.0
LONGEST_DELAY = 300.0
# A container that ran this long has recovered: its next crash counts as the first.
STEADY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class SetUpSandbox:
    """Network, volumes and files: once, before the first container."""


@dataclass(frozen=True, slots=True)
class Start:
    container: str
    attempt: int = 0
    crashes: int = 0


@dataclass(frozen=True, slots=True)
class Stop:
    """A probe has given up on it; the restart follows once it has ended."""

    container: str
    grace_seconds: int
    why: str


@dataclass(frozen=True, slots=True)
class ReleaseSandbox:
    """All containers are done for good: the address can go to another Pod."""


Step = SetUpSandbox | Start | Stop | ReleaseSandbox


@dataclass(frozen=True, slots=True)
class Plan:
    """`wake_at` is when time alone makes something due, if nothing else happens before."""

    steps: tuple[Step, ...] = ()
    wake_at: float | None = None


def plan(pod: Pod, seen: Observed, now: float) -> Plan:
    if finished(pod, seen):
        return Plan((ReleaseSandbox(),) if seen.sandbox_ready else ())
    if not seen.sandbox_ready:
        trouble = seen.sandbox_trouble
        if trouble and now < trouble.retry_at:
            return Plan(wake_at=trouble.retry_at)
        return Plan((SetUpSandbox(),))
    steps: list[Step] = []
    due: list[float] = []
    for container in _current(pod, seen):
        step, wake_at = _for_container(pod, container, seen, now)
        steps += [step] if step else []
        due += [wake_at] if wake_at else []
    return Plan(tuple(steps), min(due, default=None))


def _for_container(
    pod: Pod, container: Container, seen: Observed, now: float
) -> tuple[Step | None, float | None]:
    run, waiting = seen.runs.get(container.name), seen.waiting.get(container.name)
    if run and run.running:
        return _stop_if_unhealthy(pod, container, seen), None
    if waiting and now < waiting.retry_at:
        return None, waiting.retry_at
    if run is None:
        return Start(container.name), None
    if not restarts(pod, container, run):
        return None, None
    due = restart_due(run)
    if now < due:
        return None, due
    return Start(container.name, run.attempt + 1, 1 if _steady(run) else run.crashes + 1), None


def _stop_if_unhealthy(pod: Pod, container: Container, seen: Observed) -> Stop | None:
    health = seen.healthy(container.name)
    if health.alive:
        return None
    own = container.liveness_probe or container.startup_probe
    grace = own.termination_grace_period_seconds if own else None
    return Stop(
        container.name,
        pod.spec.termination_grace_period_seconds if grace is None else grace,
        health.complaint,
    )


def _current(pod: Pod, seen: Observed) -> list[Container]:
    """Init containers one after the other, then all others; sidecars stay in the list once begun."""
    current: list[Container] = []
    for container in pod.spec.init_containers or ():
        run = seen.runs.get(container.name)
        if is_sidecar(container):
            current.append(container)
            if not seen.healthy(container.name).started:
                return current
        elif not (run and run.succeeded):
            return [*current, container]
    return [*current, *pod.spec.containers]


# ---- facts that the status shares with the plan ----------------------------------------------------------


def is_sidecar(init_container: Container) -> bool:
    return init_container.restart_policy == "Always"


def restarts(pod: Pod, container: Container, run: Run) -> bool:
    """Whether a container that has ended is to be started again."""
    is_init = any(container.name == other.name for other in pod.spec.init_containers or ())
    if is_init and not is_sidecar(container):
        return not run.succeeded and pod.spec.restart_policy != "Never"
    policy = container.restart_policy or pod.spec.restart_policy
    return policy == "Always" or (policy == "OnFailure" and not run.succeeded)


def delay(crashes: int) -> float:
    """The first restart comes at once, the following after 10 s, 20 s, 40 s … 300 s."""
    return min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(crashes - 1, 16)) if crashes > 0 else 0.0


def restart_due(run: Run) -> float:
    return run.finished_at + (0.0 if _steady(run) else delay(run.crashes))


def _steady(run: Run) -> bool:
    return run.started_at > 0 and run.finished_at - run.started_at >= STEADY_SECONDS


def failed_init(pod: Pod, seen: Observed) -> Container | None:
    """An init container that has failed and won't be tried again: the Pod has failed with it."""
    for container in pod.spec.init_containers or ():
        run = seen.runs.get(container.name)
        ended_badly = run and run.exit_code is not None and not run.succeeded
        if run and ended_badly and not restarts(pod, container, run):
            return container
    return None


def finished(pod: Pod, seen: Observed) -> bool:
    """Whether the Pod has come to its end: every container has, and none is to be started again."""
    if failed_init(pod, seen):
        return not any(run.running for run in seen.runs.values())
    runs = [(container, seen.runs.get(container.name)) for container in pod.spec.containers]
    return bool(runs) and all(
        run is not None and run.exit_code is not None and not restarts(pod, container, run)
        for container, run in runs
    )
