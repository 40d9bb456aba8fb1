"""One row sums up a Pod the way Kubernetes does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fairway.api.resources import PODS
from fairway.api.tables import row_cells, table

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FIVE_MINUTES_AGO = "2025-12-31T23:55:00Z"
AN_HOUR_AGO = "2025-12-31T23:00:00Z"
RUNNING: dict[str, Any] = {"running": {"startedAt": AN_HOUR_AGO}}


def pod(
    *statuses: dict[str, Any],
    init: list[dict[str, Any]] | None = None,
    sidecars: tuple[str, ...] = (),
    spec: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    **status: Any,
) -> dict[str, Any]:
    init_containers = [
        {"name": each["name"]} | ({"restartPolicy": "Always"} if each["name"] in sidecars else {})
        for each in init or []
    ]
    return {
        "metadata": {"name": "p", "creationTimestamp": AN_HOUR_AGO} | (metadata or {}),
        "spec": {"containers": [{"name": each["name"]} for each in statuses] or [{"name": "c"}]}
        | {"initContainers": init_containers}
        | (spec or {}),
        "status": {
            "phase": "Running",
            "containerStatuses": list(statuses),
            "initContainerStatuses": init or [],
        }
        | status,
    }


def container(name: str = "c", state: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "state": RUNNING if state is None else state, "ready": state is None} | more


def waiting(reason: str) -> dict[str, Any]:
    return {"waiting": {"reason": reason}}


def terminated(code: int, reason: str = "", signal: int = 0) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "signal": signal}}


def ended(when: str) -> dict[str, Any]:
    return {"terminated": {"exitCode": 1, "finishedAt": when}}


CONDITION_TRUE = {"status": "True"}
STATUS_CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("a pod nobody has seen yet", pod(phase="Pending"), "0/1", "Pending"),
    ("all containers run", pod(container("a"), container("b")), "2/2", "Running"),
    ("a reason of the pod itself", pod(phase="Failed", reason="Evicted"), "0/1", "Evicted"),
    (
        "a pod held back from scheduling",
        pod(phase="Pending", conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]),
        "0/1",
        "SchedulingGated",
    ),
    ("a container in back-off", pod(container(state=waiting("CrashLoopBackOff"))), "0/1", "CrashLoopBackOff"),
    ("images being pulled", pod(container(state=waiting("ContainerCreating"))), "0/1", "ContainerCreating"),
    ("waiting without a reason", pod(container(state={"waiting": {}}), phase="Pending"), "0/1", "Pending"),
    ("ended well", pod(container(state=terminated(0, "Completed")), phase="Succeeded"), "0/1", "Completed"),
    ("ended badly", pod(container(state=terminated(1, "Error")), phase="Failed"), "0/1", "Error"),
    ("out of memory", pod(container(state=terminated(137, "OOMKilled"))), "0/1", "OOMKilled"),
    ("an exit code alone", pod(container(state=terminated(3))), "0/1", "ExitCode:3"),
    ("a signal alone", pod(container(state=terminated(0, signal=9))), "0/1", "Signal:9"),
    (
        "the first container that has something to say speaks",
        pod(container("a"), container("b", terminated(1, "Error")), container("c", waiting("Later"))),
        "1/3",
        "Error",
    ),
    (
        "one completed beside a running one, pod ready",
        pod(
            container("a"),
            container("b", terminated(0, "Completed")),
            conditions=[{"type": "Ready", **CONDITION_TRUE}],
        ),
        "1/2",
        "Running",
    ),
    (
        "one completed beside a running one, pod not ready",
        pod(container("a"), container("b", terminated(0, "Completed"))),
        "1/2",
        "NotReady",
    ),
    ("running but not ready", pod(container(ready=False)), "0/1", "Running"),
    (
        "the second of two init containers runs",
        pod(init=[container("i", terminated(0)), container("j")], phase="Pending"),
        "0/1",
        "Init:1/2",
    ),
    (
        "an init container that waits its turn",
        pod(init=[container("i", waiting("PodInitializing"))], phase="Pending"),
        "0/1",
        "Init:0/1",
    ),
    (
        "an init container in back-off",
        pod(init=[container("i", waiting("CrashLoopBackOff"))], phase="Pending"),
        "0/1",
        "Init:CrashLoopBackOff",
    ),
    ("an init container failed", pod(init=[container("i", terminated(1, "Error"))]), "0/1", "Init:Error"),
    ("an init container's exit code", pod(init=[container("i", terminated(3))]), "0/1", "Init:ExitCode:3"),
    ("an init container's signal", pod(init=[container("i", terminated(1, "", 9))]), "0/1", "Init:Signal:9"),
    (
        "init containers are through",
        pod(container(state=waiting("PodInitializing")), init=[container("i", terminated(0))]),
        "0/1",
        "PodInitializing",
    ),
    (
        "an init container runs again after the pod was initialised",
        pod(container("a"), init=[container("i")], conditions=[{"type": "Initialized", **CONDITION_TRUE}]),
        "1/1",
        "Init:0/1",
    ),
    (
        "a sidecar counts among the containers",
        pod(container("a"), init=[container("s", started=True)], sidecars=("s",)),
        "2/2",
        "Running",
    ),
    (
        "a sidecar that has not started",
        pod(container("a"), init=[container("s", started=False)], sidecars=("s",)),
        "0/2",
        "Init:0/1",
    ),
    (
        "a sidecar that has started but is not ready",
        pod(container("a"), init=[container("s", started=True, ready=False)], sidecars=("s",)),
        "1/2",
        "Running",
    ),
    (
        "being deleted",
        pod(container(), metadata={"deletionTimestamp": FIVE_MINUTES_AGO}),
        "1/1",
        "Terminating",
    ),
    (
        "being deleted after it ended",
        pod(
            container(state=terminated(0, "Completed")),
            metadata={"deletionTimestamp": FIVE_MINUTES_AGO},
            phase="Succeeded",
        ),
        "0/1",
        "Completed",
    ),
    (
        "being deleted from a node that is lost",
        pod(container(), metadata={"deletionTimestamp": FIVE_MINUTES_AGO}, reason="NodeLost"),
        "1/1",
        "Unknown",
    ),
]


@pytest.mark.parametrize(
    ("obj", "ready", "status"), [case[1:] for case in STATUS_CASES], ids=[case[0] for case in STATUS_CASES]
)
def test_ready_and_status_sum_up_the_containers(obj: dict[str, Any], ready: str, status: str) -> None:
    assert row_cells(PODS, obj, NOW)[1:3] == [ready, status]


RESTART_CASES: list[tuple[str, dict[str, Any], str]] = [
    ("none", pod(container()), "0"),
    ("a count without a time", pod(container(restartCount=3)), "3"),
    ("no count, whatever the last state", pod(container(restartCount=0, lastState=ended(AN_HOUR_AGO))), "0"),
    (
        "the latest end of several containers",
        pod(
            container("a", restartCount=2, lastState=ended(FIVE_MINUTES_AGO)),
            container("b", restartCount=1, lastState=ended(AN_HOUR_AGO)),
        ),
        "3 (5m ago)",
    ),
    (
        "init containers while they run",
        pod(init=[container("i", waiting("CrashLoopBackOff"), restartCount=4, lastState=ended(AN_HOUR_AGO))]),
        "4 (60m ago)",
    ),
    (
        "init containers no more once they are through",
        pod(container(restartCount=1), init=[container("i", terminated(0), restartCount=4)]),
        "1",
    ),
    (
        "sidecars beside containers",
        pod(
            container(restartCount=1),
            init=[container("s", started=True, restartCount=2, lastState=ended(FIVE_MINUTES_AGO))],
            sidecars=("s",),
        ),
        "3 (5m ago)",
    ),
]


@pytest.mark.parametrize(
    ("obj", "shown"), [case[1:] for case in RESTART_CASES], ids=[case[0] for case in RESTART_CASES]
)
def test_restarts_are_counted_with_the_time_of_the_last(obj: dict[str, Any], shown: str) -> None:
    assert row_cells(PODS, obj, NOW)[3] == shown


def test_wide_columns_show_address_node_nomination_and_gates() -> None:
    gates = [{"conditionType": "x/a"}, {"conditionType": "x/b"}]
    obj = pod(
        spec={"nodeName": "n1", "readinessGates": gates},
        podIPs=[{"ip": "10.1.0.5"}, {"ip": "fd00::5"}],
        nominatedNodeName="n2",
        conditions=[{"type": "x/a", "status": "True"}, {"type": "x/b", "status": "False"}],
    )
    assert row_cells(PODS, obj, NOW)[4:] == ["60m", "10.1.0.5", "n1", "n2", "1/2"]


def test_wide_columns_say_none_for_what_is_not_known() -> None:
    assert row_cells(PODS, pod(), NOW)[5:] == ["<none>"] * 4


@pytest.mark.parametrize(
    ("phase", "message"),
    [("Succeeded", "The pod has completed successfully."), ("Failed", "The pod failed.")],
)
def test_the_row_of_a_pod_that_ended_is_marked_as_completed(phase: str, message: str) -> None:
    (row,) = table(PODS, [pod(phase=phase)], NOW, resource_version="1")["rows"]
    assert row["conditions"] == [{"type": "Completed", "status": "True", "reason": phase, "message": message}]


def test_the_row_of_a_running_pod_has_no_conditions() -> None:
    (row,) = table(PODS, [pod(container())], NOW, resource_version="1")["rows"]
    assert "conditions" not in row
