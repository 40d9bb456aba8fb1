from dataclasses import replace
from typing import Any

import pytest

from fairway.nodeagent.objects import Pod
from fairway.nodeagent.pods.model import Health, Observed, Run, Waiting
from fairway.nodeagent.pods.plan import Plan, ReleaseSandbox, SetUpSandbox, Start, Stop, delay, plan
from tests.unit.nodeagent.objects import make_pod

NOW = 1000.0
UP = Observed(pod_ip="10.244.1.2", sandbox_ready=True)


def running(**more: Any) -> Run:
    return Run("id", started_at=NOW - 50, **more)


def ended(code: int, *, after: float = 5, ago: float = 0, **more: Any) -> Run:
    return Run("id", started_at=NOW - ago - after, finished_at=NOW - ago, exit_code=code, **more)


def steps(pod: Pod, seen: Observed) -> tuple[object, ...]:
    return plan(pod, seen, NOW).steps


def test_the_sandbox_comes_before_any_container() -> None:
    assert steps(make_pod(), Observed()) == (SetUpSandbox(),)


def test_a_sandbox_in_trouble_is_tried_again_when_it_is_due() -> None:
    trouble = Observed(sandbox_trouble=Waiting("ContainerCreating", "no address", NOW + 5))
    assert plan(make_pod(), trouble, NOW) == Plan(wake_at=NOW + 5)
    assert plan(make_pod(), trouble, NOW + 5).steps == (SetUpSandbox(),)


def test_all_containers_start_together() -> None:
    pod = make_pod(containers=[{"name": "a", "image": "x"}, {"name": "b", "image": "x"}])
    assert steps(pod, UP) == (Start("a"), Start("b"))


def test_a_running_container_is_left_alone() -> None:
    assert plan(make_pod(), replace(UP, runs={"main": running()}), NOW) == Plan()


def test_init_containers_run_one_after_the_other_and_before_the_rest() -> None:
    pod = make_pod(initContainers=[{"name": "i1", "image": "x"}, {"name": "i2", "image": "x"}])
    assert steps(pod, UP) == (Start("i1"),)
    assert steps(pod, replace(UP, runs={"i1": running()})) == ()
    assert steps(pod, replace(UP, runs={"i1": ended(0)})) == (Start("i2"),)
    assert steps(pod, replace(UP, runs={"i1": ended(0), "i2": ended(0)})) == (Start("main"),)


def test_a_failed_init_container_is_tried_again_unless_the_pod_never_restarts() -> None:
    init = [{"name": "i", "image": "x"}]
    seen = replace(UP, runs={"i": ended(1)})
    assert steps(make_pod(initContainers=init), seen) == (Start("i", 1, 1),)
    assert steps(make_pod(initContainers=init, restartPolicy="Never"), seen) == (ReleaseSandbox(),)


def test_a_sidecar_holds_up_the_rest_only_until_it_has_started() -> None:
    pod = make_pod(initContainers=[{"name": "side", "image": "x", "restartPolicy": "Always"}])
    assert steps(pod, UP) == (Start("side"),)
    waiting = replace(UP, runs={"side": running()}, health={"side": Health(started=False)})
    assert steps(pod, waiting) == ()
    assert steps(pod, replace(UP, runs={"side": running()})) == (Start("main"),)
    assert steps(pod, replace(UP, runs={"side": ended(1), "main": running()})) == (Start("side", 1, 1),)


@pytest.mark.parametrize(
    ("policy", "code", "restarted"),
    [
        ("Always", 0, True),
        ("Always", 1, True),
        ("OnFailure", 0, False),
        ("OnFailure", 1, True),
        ("Never", 1, False),
    ],
)
def test_what_has_ended_is_started_again_by_the_restart_policy(
    policy: str, code: int, restarted: bool
) -> None:
    found = steps(make_pod(restartPolicy=policy), replace(UP, runs={"main": ended(code)}))
    assert found == ((Start("main", 1, 1),) if restarted else (ReleaseSandbox(),))


def test_the_first_restart_is_immediate_and_the_following_wait_ever_longer() -> None:
    assert [delay(crashes) for crashes in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]
    crashed = replace(UP, runs={"main": ended(1, crashes=1, attempt=1)})
    assert plan(make_pod(), crashed, NOW) == Plan(wake_at=NOW + 10)
    assert plan(make_pod(), crashed, NOW + 10).steps == (Start("main", 2, 2),)


def test_a_container_that_ran_long_enough_starts_over_with_its_back_off() -> None:
    steady = replace(UP, runs={"main": ended(1, after=600, crashes=6, attempt=6)})
    assert steps(make_pod(), steady) == (Start("main", 7, 1),)


def test_a_container_that_can_not_start_waits_for_its_turn() -> None:
    waiting = replace(UP, waiting={"main": Waiting("ErrImagePull", "no such image", NOW + 5)})
    assert plan(make_pod(), waiting, NOW) == Plan(wake_at=NOW + 5)
    assert plan(make_pod(), waiting, NOW + 6).steps == (Start("main"),)


def test_a_container_that_is_not_alive_is_stopped_with_the_probes_own_grace_if_it_has_one() -> None:
    sick = replace(UP, runs={"main": running()}, health={"main": Health(alive=False, complaint="dead")})
    assert steps(make_pod(), sick) == (Stop("main", 30, "dead"),)
    probe = {"exec": {"command": ["true"]}, "terminationGracePeriodSeconds": 3}
    pod = make_pod(containers=[{"name": "main", "image": "x", "livenessProbe": probe}])
    assert steps(pod, sick) == (Stop("main", 3, "dead"),)


def test_a_finished_pod_gives_its_network_back_once() -> None:
    pod = make_pod(restartPolicy="Never")
    done = replace(UP, runs={"main": ended(0)})
    assert steps(pod, done) == (ReleaseSandbox(),)
    assert plan(pod, replace(done, sandbox_ready=False), NOW) == Plan()
