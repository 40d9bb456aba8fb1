"""PodDisruptionBudgets: how many Pods may go, from how many there are, should be and are on their way out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.api.timestamps import stamp
from fairway.controllers.disruption.plan import Budget, BudgetSpec, BudgetStatus, Scale, plan
from fairway.controllers.selectors import LabelSelector

from .objects import NOW, WEB, meta, pod

SCALE = Scale(3)
THREE = [pod(f"p{i}", f"10.0.0.{i}") for i in range(3)]


def budget(status: BudgetStatus | None = None, **spec: Any) -> Budget:
    made = BudgetSpec(LabelSelector(match_labels=WEB), **spec)
    return Budget(meta("web", generation=1), made, status or BudgetStatus())


def status_of(given: Budget, pods: list[Any] = THREE, scale: Scale = SCALE) -> dict[str, Any]:
    (write,) = plan(given, pods, scale, NOW).writes
    return dict(write.patch["status"])  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("spec", "desired", "allowed"),
    [
        ({"min_available": 2}, 2, 1),
        ({"min_available": 3}, 3, 0),
        ({"min_available": "50%"}, 2, 1),
        ({"max_unavailable": 1}, 2, 1),
        ({"max_unavailable": "34%"}, 1, 2),
        ({"max_unavailable": 0}, 3, 0),
    ],
)
def test_as_many_may_go_as_leave_enough(spec: dict[str, Any], desired: int, allowed: int) -> None:
    status = status_of(budget(**spec))
    assert (status["desiredHealthy"], status["disruptionsAllowed"]) == (desired, allowed)
    assert (status["currentHealthy"], status["expectedPods"]) == (3, 3)
    (condition,) = status["conditions"]
    assert condition["status"] == ("True" if allowed else "False")


def test_unready_and_terminating_pods_are_not_well() -> None:
    pods = [pod("a", "10.0.0.1"), pod("b", "10.0.0.2", ready=False), pod("c", "10.0.0.3", going=True)]
    assert status_of(budget(min_available=1), pods)["currentHealthy"] == 1


def test_a_granted_eviction_counts_until_the_pod_is_seen_to_go() -> None:
    given = budget(BudgetStatus(disrupted_pods={"p0": stamp(NOW - 5), "gone": stamp(NOW)}), min_available=1)
    step = plan(given, THREE, Scale(3), NOW)
    (write,) = step.writes
    status = write.patch["status"]  # type: ignore[union-attr]
    assert (status["currentHealthy"], status["disruptedPods"]) == (2, {"p0": stamp(NOW - 5), "gone": None})
    assert step.look_again == 115


def test_an_eviction_that_never_happened_is_given_up() -> None:
    given = budget(BudgetStatus(disrupted_pods={"p0": stamp(NOW - 121)}), min_available=1)
    status = status_of(given)
    assert (status["currentHealthy"], status["disruptedPods"]) == (3, None)


def test_nothing_may_go_where_the_owner_has_no_size() -> None:
    status = status_of(budget(max_unavailable=1), scale=Scale(failure='found no controllers for pod "p0"'))
    assert status["disruptionsAllowed"] == 0
    assert status["conditions"][0]["reason"] == "SyncFailed"


def test_what_is_said_already_is_not_written_again() -> None:
    given = budget(min_available=2)
    condition = status_of(given)["conditions"]
    settled = BudgetStatus(1, 3, 2, 3, 1, None, condition)
    settled = msgspec.convert(msgspec.to_builtins(settled), BudgetStatus)
    assert plan(budget(settled, min_available=2), THREE, Scale(3), NOW).writes == ()
