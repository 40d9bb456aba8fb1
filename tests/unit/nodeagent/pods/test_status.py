from dataclasses import replace
from typing import Any

import pytest

from fairway.nodeagent.objects import Condition, Pod
from fairway.nodeagent.pods.model import Health, Observed, Run, Waiting
from fairway.nodeagent.pods.status import pod_status, timestamp
from tests.unit.nodeagent.objects import UID, make_pod

NOW = 1_700_000_000.0
LATER, MUCH_LATER = "2023-11-14T22:13:20Z", NOW + 3600
UP = Observed(pod_ip="10.244.1.2", sandbox_ready=True)
RUN = Run("abc", image_id="sha256:1", started_at=NOW - 9)


def ended(code: int, **more: Any) -> Run:
    return replace(RUN, finished_at=NOW - 1, exit_code=code, **more)


def status(pod: Pod, seen: Observed, now: float = NOW) -> dict[str, Any]:
    return pod_status(pod, seen, "172.30.96.11", now)


def condition(found: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(c for c in found["conditions"] if c["type"] == kind)


def test_a_running_ready_pod_says_so_in_every_field() -> None:
    found = status(make_pod(), replace(UP, runs={"main": RUN}))
    assert found["phase"] == "Running"
    assert (found["podIP"], found["podIPs"]) == ("10.244.1.2", [{"ip": "10.244.1.2"}])
    assert (found["hostIP"], found["startTime"], found["qosClass"]) == ("172.30.96.11", LATER, "BestEffort")
    assert {c["type"]: c["status"] for c in found["conditions"]} == {
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }
    assert found["containerStatuses"] == [
        {
            "name": "main",
            "state": {"running": {"startedAt": timestamp(NOW - 9)}},
            "lastState": {},
            "ready": True,
            "started": True,
            "restartCount": 0,
            "image": "busybox",
            "imageID": "sha256:1",
            "containerID": "runc://abc",
        }
    ]


def test_a_pod_is_pending_until_every_container_has_started() -> None:
    pod = make_pod(containers=[{"name": "a", "image": "x"}, {"name": "b", "image": "x"}])
    found = status(pod, replace(UP, runs={"a": RUN}))
    assert found["phase"] == "Pending"
    assert found["containerStatuses"][1]["state"] == {"waiting": {"reason": "ContainerCreating"}}


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [
        ("Always", 0, "Running"),
        ("Always", 1, "Running"),
        ("OnFailure", 1, "Running"),
        ("OnFailure", 0, "Succeeded"),
        ("Never", 0, "Succeeded"),
        ("Never", 2, "Failed"),
    ],
)
def test_the_phase_after_the_end_follows_policy_and_exit_code(policy: str, code: int, phase: str) -> None:
    pod = make_pod(restartPolicy=policy)
    assert status(pod, replace(UP, runs={"main": ended(code)}))["phase"] == phase


def test_a_deleted_pod_whose_containers_ended_is_over_whatever_its_policy() -> None:
    pod = make_pod(metadata={"deletionTimestamp": LATER})
    assert status(pod, replace(UP, runs={"main": ended(0)}))["phase"] == "Succeeded"
    assert status(pod, replace(UP, runs={"main": ended(137)}))["phase"] == "Failed"


def test_an_unready_container_is_named_in_both_conditions() -> None:
    seen = replace(UP, runs={"main": RUN}, health={"main": Health(ready=False)})
    found = status(make_pod(), seen)
    for kind in ("Ready", "ContainersReady"):
        assert condition(found, kind)["status"] == "False"
        assert condition(found, kind)["reason"] == "ContainersNotReady"
        assert condition(found, kind)["message"] == "containers with unready status: [main]"
    assert found["containerStatuses"][0]["ready"] is False
    assert found["phase"] == "Running"


def test_a_condition_keeps_its_time_until_its_status_changes() -> None:
    before = [Condition("Ready", "True", last_transition_time="2020-01-01T00:00:00Z")]
    seen = replace(UP, runs={"main": RUN})
    same = pod_status(make_pod(), seen, "172.30.96.11", NOW, before)
    assert condition(same, "Ready")["lastTransitionTime"] == "2020-01-01T00:00:00Z"
    sick = replace(seen, health={"main": Health(ready=False)})
    changed = pod_status(make_pod(), sick, "172.30.96.11", NOW, before)
    assert condition(changed, "Ready")["lastTransitionTime"] == LATER


def test_readiness_gates_hold_the_pod_back_until_others_say_true() -> None:
    pod = make_pod(readinessGates=[{"conditionType": "example.com/lb"}])
    seen = replace(UP, runs={"main": RUN})
    closed = status(pod, seen)
    assert condition(closed, "ContainersReady")["status"] == "True"
    assert condition(closed, "Ready")["reason"] == "ReadinessGatesNotReady"
    assert 'readiness gate "example.com/lb" does not exist' in condition(closed, "Ready")["message"]
    gate = [Condition("example.com/lb", "True")]
    assert condition(pod_status(pod, seen, "", NOW, gate), "Ready")["status"] == "True"


def test_init_containers_hold_the_pod_pending_and_are_named() -> None:
    pod = make_pod(initContainers=[{"name": "i", "image": "x"}])
    found = status(pod, replace(UP, runs={"i": RUN}))
    assert found["phase"] == "Pending"
    assert condition(found, "Initialized")["message"] == "containers with incomplete status: [i]"
    assert found["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    done = status(pod, replace(UP, runs={"i": ended(0), "main": RUN}))
    assert condition(done, "Initialized")["status"] == "True"
    assert done["initContainerStatuses"][0]["ready"] is True


def test_an_init_container_that_failed_for_good_fails_the_pod() -> None:
    pod = make_pod(initContainers=[{"name": "i", "image": "x"}], restartPolicy="Never")
    assert status(pod, replace(UP, runs={"i": ended(1)}))["phase"] == "Failed"


def test_a_crash_loop_shows_the_back_off_and_the_last_end() -> None:
    seen = replace(UP, runs={"main": ended(3, crashes=2, attempt=2)})
    found = status(make_pod(), seen)["containerStatuses"][0]
    assert found["state"]["waiting"] == {
        "reason": "CrashLoopBackOff",
        "message": f"back-off 20s restarting failed container=main pod=web-1_default({UID})",
    }
    assert found["lastState"]["terminated"]["exitCode"] == 3
    assert found["restartCount"] == 2


def test_a_missing_image_is_a_reason_to_wait() -> None:
    waiting = {"main": Waiting("ErrImagePull", "run `fairway image load FILE`")}
    found = status(make_pod(), replace(UP, waiting=waiting))
    assert found["containerStatuses"][0]["state"]["waiting"]["reason"] == "ErrImagePull"
    assert "fairway image load" in found["containerStatuses"][0]["state"]["waiting"]["message"]


def test_a_finished_pod_keeps_its_address_and_tells_how_its_container_ended() -> None:
    pod = make_pod(restartPolicy="Never")
    found = status(pod, Observed(pod_ip="10.244.1.9", runs={"main": ended(0)}))
    assert found["podIP"] == "10.244.1.9"
    assert found["containerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"
    assert condition(found, "Ready")["reason"] == "PodCompleted"


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Mi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Mi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_quality_of_service_follows_from_requests_and_limits(resources: dict[str, Any], quality: str) -> None:
    pod = make_pod(containers=[{"name": "main", "image": "x", "resources": resources}])
    assert status(pod, UP)["qosClass"] == quality
