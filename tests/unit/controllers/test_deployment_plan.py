"""Deployments: rolling over without losing availability, history, conditions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.controllers.bounds import max_surge, max_unavailable
from fairway.controllers.deployment.plan import plan
from fairway.controllers.podhash import template_hash
from fairway.controllers.writes import Create, Patch

from .objects import NOW, deployment, pod, replica_set, template
from .rollout_model import Rollout

REVISION = "deployment.kubernetes.io/revision"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (4, "25%", "25%", (1, 1)),
        (3, "25%", "25%", (1, 0)),
        (10, 2, 3, (2, 3)),
        (3, 0, 0, (0, 1)),
        (1, "0%", "10%", (0, 1)),
        (0, "25%", "25%", (0, 0)),
        (2, 0, 5, (0, 2)),
    ],
)
def test_bounds_round_surge_up_and_unavailable_down_and_never_both_to_zero(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    given = deployment(replicas, surge=surge, unavailable=unavailable)
    assert (max_surge(given), max_unavailable(given)) == expected


def test_a_new_deployment_gets_a_replica_set_named_after_its_template() -> None:
    first, *_ = plan(deployment(3, min_ready_seconds=5), [], {}, NOW).writes
    assert isinstance(first, Create)
    digest = template_hash(template())
    body = first.obj
    assert body["metadata"]["name"] == f"web-{digest}"
    assert body["spec"]["replicas"] == 3
    assert body["spec"]["minReadySeconds"] == 5
    assert body["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": digest}
    assert body["spec"]["template"]["metadata"]["labels"] == {"app": "web", "pod-template-hash": digest}
    assert body["metadata"]["annotations"] == {REVISION: "1", DESIRED: "3", MAXIMUM: "4"}
    assert body["metadata"]["ownerReferences"][0].uid == "uid-deployment"


def test_annotations_are_handed_on_but_those_about_the_object_itself() -> None:
    notes = {"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}", REVISION: "9"}
    first, *_ = plan(deployment(1, annotations=notes), [], {}, NOW).writes
    assert isinstance(first, Create)
    assert first.obj["metadata"]["annotations"] == {"note": "x", REVISION: "1", DESIRED: "1", MAXIMUM: "2"}


def test_a_rollout_goes_to_its_end() -> None:
    run = Rollout(3)
    run.all_available()
    run.change(image="app:2")
    run.all_available()
    assert run.sizes == {"app:1": 0, "app:2": 3}
    assert run.deployment.metadata.annotation(REVISION) == "2"
    assert run.condition("Progressing") == ("True", "NewReplicaSetAvailable")
    assert run.condition("Available") == ("True", "MinimumReplicasAvailable")
    assert run.deployment.status.observed_generation == 2


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (4, "25%", "25%", {"app:1": 3, "app:2": 2}),
        (3, 0, 1, {"app:1": 2, "app:2": 1}),
        (3, 1, 0, {"app:1": 3, "app:2": 1}),
    ],
)
def test_a_rollout_whose_pods_do_not_become_ready_stops_within_bounds(
    replicas: int, surge: int | str, unavailable: int | str, expected: dict[str, int]
) -> None:
    run = Rollout(replicas, surge=surge, unavailable=unavailable)
    run.all_available()
    run.change(image="app:2")
    run.settle()
    assert run.sizes == expected
    assert run.condition("Progressing") == ("True", "ReplicaSetUpdated")


def test_old_pods_that_serve_nobody_go_first() -> None:
    run = Rollout(4)
    run.all_available()
    run.change(image="app:2")
    run.settle()
    run.change(image="app:3")
    run.settle()
    assert run.sizes["app:2"] == 0
    assert run.available >= 3


@settings(max_examples=60, deadline=None)
@given(
    replicas=st.integers(1, 12),
    surge=st.sampled_from([0, 1, 3, "25%", "100%"]),
    unavailable=st.sampled_from([0, 1, 2, "25%", "50%"]),
    order=st.lists(st.tuples(st.sampled_from(["app:1", "app:2", "app:3"]), st.integers(1, 4)), max_size=40),
    second=st.integers(0, 20),
)
def test_availability_and_size_hold_at_every_moment_of_any_rollout(
    replicas: int, surge: int | str, unavailable: int | str, order: list[tuple[str, int]], second: int
) -> None:
    run = Rollout(replicas, surge=surge, unavailable=unavailable)
    run.all_available()
    most = replicas + max_surge(run.deployment)
    least = replicas - max_unavailable(run.deployment)
    run.change(image="app:2")
    for moment, (image, count) in enumerate(order):
        if moment == second:
            run.change(image="app:3")
        run.step()
        assert run.total <= most
        assert run.available >= least
        if image in run.sizes:
            run.become_available(run.named(image).metadata.name, count)
    run.all_available()
    assert run.total == run.available == replicas


def test_recreate_stops_the_old_before_it_starts_the_new() -> None:
    run = Rollout(2, strategy="Recreate")
    run.all_available()
    run.change(image="app:2")
    run.step()
    assert run.sizes == {"app:1": 0}
    run.all_available()
    assert run.sizes == {"app:1": 0, "app:2": 2}


def test_recreate_waits_for_the_last_old_pod_terminating_ones_too() -> None:
    old = replica_set("web-old", 0, "app:1", annotations={REVISION: "1", DESIRED: "2"})
    given = deployment(2, "app:2", strategy="Recreate")
    leaving = {"uid-web-old": [pod("a", "10.0.0.1", going=True)]}
    assert not [w for w in plan(given, [old], leaving, NOW).writes if isinstance(w, Create)]
    assert [w for w in plan(given, [old], {}, NOW).writes if isinstance(w, Create)]


def test_going_back_to_an_old_template_takes_its_replica_set_up_again() -> None:
    run = Rollout(2)
    run.all_available()
    run.change(image="app:2")
    run.all_available()
    run.change(image="app:1")
    run.all_available()
    first = run.named("app:1").metadata
    assert run.sizes == {"app:1": 2, "app:2": 0}
    assert first.annotation(REVISION) == "3"
    assert first.annotation("deployment.kubernetes.io/revision-history") == "1"
    assert run.deployment.metadata.annotation(REVISION) == "3"


def test_scaling_resizes_the_current_set_and_records_the_new_total() -> None:
    run = Rollout(4)
    run.all_available()
    run.change(replicas=1)
    run.all_available()
    notes = run.named("app:1").metadata.annotations or {}
    assert run.sizes == {"app:1": 1}
    assert (notes[DESIRED], notes[MAXIMUM]) == ("1", "2")


def test_scaling_in_the_middle_of_a_rollout_shares_by_size() -> None:
    run = Rollout(10, surge=2, unavailable=0)
    run.all_available()
    run.change(image="app:2")
    run.settle()
    assert run.sizes == {"app:1": 10, "app:2": 2}
    run.change(replicas=20)
    run.step()
    assert run.sizes == {"app:1": 18, "app:2": 4}


def test_a_replica_set_scaled_by_hand_is_set_right() -> None:
    run = Rollout(2)
    run.all_available()
    name = run.named("app:1").metadata.name
    run.sets[name] = replica_set(name, 5, available=5, annotations=run.sets[name].metadata.annotations)
    run.settle()
    assert run.sizes == {"app:1": 2}


def test_a_paused_deployment_scales_but_does_not_roll() -> None:
    run = Rollout(2)
    run.all_available()
    run.change(paused=True, image="app:2", replicas=3)
    run.all_available()
    assert run.sizes == {"app:1": 3}
    assert run.condition("Progressing") == ("Unknown", "DeploymentPaused")
    run.change(paused=False)
    run.all_available()
    assert run.sizes == {"app:1": 0, "app:2": 3}


def test_history_beyond_the_limit_is_removed_oldest_first() -> None:
    run = Rollout(1, revision_history_limit=1)
    for number in range(1, 5):
        run.change(image=f"app:{number}")
        run.all_available()
    assert set(run.sizes) == {"app:3", "app:4"}


def test_a_rollout_stuck_for_too_long_says_so() -> None:
    run = Rollout(2)
    run.all_available()
    run.change(image="app:2")
    run.settle()
    assert plan(run.deployment, run.sets.values(), {}, run.now).look_again == pytest.approx(601, abs=2)
    run.now += 700
    run.settle()
    assert run.condition("Progressing") == ("False", "ProgressDeadlineExceeded")


def test_a_lost_pod_is_no_new_rollout() -> None:
    run = Rollout(2)
    run.all_available()
    name = run.named("app:1").metadata.name
    run.sets[name] = replica_set(name, 2, annotations=run.sets[name].metadata.annotations)
    run.settle()
    assert run.condition("Available") == ("False", "MinimumReplicasUnavailable")
    assert run.condition("Progressing") == ("True", "NewReplicaSetAvailable")


def test_nothing_is_written_once_all_agree() -> None:
    run = Rollout(3)
    run.all_available()
    assert not plan(run.deployment, run.sets.values(), {}, run.now + 5)


def test_the_status_is_tied_to_the_state_it_was_computed_from() -> None:
    writes = plan(deployment(1), [], {}, NOW).writes
    status = next(w for w in writes if isinstance(w, Patch) and w.subresource == "status")
    assert status.patch["metadata"] == {"resourceVersion": "7"}
    assert status.patch["status"]["observedGeneration"] == 1
