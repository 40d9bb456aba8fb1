"""ReplicaSets: the right number of Pods, whose they are, and which go first."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fairway.api.objects import Pod
from fairway.api.resources import REPLICA_SETS
from fairway.api.timestamps import stamp
from fairway.controllers.replicaset.plan import ReplicaPlan, plan, plan_status, replica_failure
from fairway.controllers.replicaset.ranking import in_order_of_removal
from fairway.controllers.workloads import ReplicaSet

from .objects import NOW, pod, replica_set

MINE = "uid-web"


def mine(name: str, *ips: str, **fields: Any) -> Pod:
    return pod(name, *ips, owner=MINE, **fields)


def step(owner: ReplicaSet, *pods: Pod) -> ReplicaPlan:
    return plan(owner, pods, pods, NOW, REPLICA_SETS)


def test_missing_replicas_are_made_from_the_template() -> None:
    result = step(replica_set(replicas=3), mine("a", "10.0.0.1"))
    assert len(result.create) == 2
    body = result.create[0].obj
    assert body["metadata"]["generateName"] == "web-"
    assert body["metadata"]["labels"] == {"app": "web"}
    assert body["metadata"]["ownerReferences"][0].uid == MINE
    assert body["spec"]["containers"][0]["image"] == "app:1"


@pytest.mark.parametrize("ended", [mine("a", phase="Failed"), mine("a", going=True)], ids=["failed", "going"])
def test_a_pod_that_ended_or_is_going_is_replaced_and_left_alone(ended: Pod) -> None:
    result = step(replica_set(replicas=1), ended)
    assert (len(result.create), result.delete, result.release) == (1, (), ())


def test_the_right_number_means_nothing_to_do() -> None:
    result = step(replica_set(replicas=1), mine("a"))
    assert result == ReplicaPlan((), (), (), ())


def test_orphans_that_match_are_adopted_and_counted() -> None:
    result = step(replica_set(replicas=1), pod("lone"))
    (patch,) = result.adopt
    assert not result.create
    assert patch.patch["metadata"]["resourceVersion"] == "7"
    assert [ref.uid for ref in patch.patch["metadata"]["ownerReferences"]] == [MINE]


def test_of_too_many_adopted_ones_the_surplus_goes() -> None:
    result = step(replica_set(replicas=1), pod("x", node=""), pod("y", node=""), pod("z", node=""))
    assert (len(result.adopt), len(result.delete)) == (3, 2)


def test_a_pod_that_no_longer_matches_is_released_and_replaced() -> None:
    result = step(replica_set(replicas=1), mine("a", labels={"app": "out"}))
    (patch,) = result.release
    assert patch.patch["metadata"]["ownerReferences"] is None
    assert len(result.create) == 1


def test_pods_of_another_owner_are_none_of_its_business() -> None:
    other = pod("a", owner="uid-other")
    result = step(replica_set(replicas=0), other)
    assert result == ReplicaPlan((), (), (), ())


def test_a_set_that_is_going_makes_and_takes_nothing() -> None:
    owner = replica_set(replicas=2)
    going = replace(owner, metadata=replace(owner.metadata, deletion_timestamp=stamp(NOW)))
    assert step(going, pod("lone")) == ReplicaPlan((), (), (), ())


# ---- who goes first ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("about", "first", "second"),
    [
        ("without a node", mine("x", node="", phase="Pending", ready=False), mine("y", ready=False)),
        ("pending", mine("x", phase="Pending", ready=False), mine("y", phase="Running", ready=False)),
        ("unready", mine("x", ready=False), mine("y")),
        ("cheap", mine("x", annotations={"controller.kubernetes.io/pod-deletion-cost": "-5"}), mine("y")),
        ("ready for less time", mine("x", ready_since=NOW - 10), mine("y", ready_since=NOW - 600)),
        ("restarted more often", mine("x", restarts=5), mine("y")),
        ("younger", mine("x", created=NOW - 60), mine("y", created=NOW - 7200)),
    ],
)
def test_the_least_useful_replica_goes_first(about: str, first: Pod, second: Pod) -> None:
    assert in_order_of_removal([second, first], [], NOW) == [first, second], about


def test_a_crowded_node_gives_first() -> None:
    lone, crowded, sibling = mine("x", node="n1"), mine("y", node="n2"), mine("z", node="n2")
    order = in_order_of_removal([lone, crowded], [lone, crowded, sibling], NOW)
    assert order == [crowded, lone]


def test_scaling_down_removes_the_unready_one() -> None:
    result = step(replica_set(replicas=1), mine("good"), mine("bad", ready=False))
    assert [write.name for write in result.delete] == ["bad"]


# ---- status --------------------------------------------------------------------------------------------


def status(owner: ReplicaSet, *pods: Pod, failure: Any = None) -> dict[str, Any]:
    patch = plan_status(owner, pods, failure, NOW, REPLICA_SETS)
    return patch.patch["status"] if patch else {}


def test_the_status_counts_what_is_there() -> None:
    pods = [mine("a"), mine("b", ready=False), mine("c", phase="Failed"), mine("d", going=True)]
    changed = status(replica_set(replicas=2, present=0), *pods)
    assert (changed["replicas"], changed["readyReplicas"], changed["availableReplicas"]) == (2, 1, 1)


def test_a_zero_is_left_out_as_in_kubernetes_but_the_number_of_replicas_never_is() -> None:
    changed = status(replica_set(replicas=1, available=1))
    assert changed == {
        "replicas": 0, "fullyLabeledReplicas": None, "readyReplicas": None, "availableReplicas": None
    }  # fmt: skip


def test_a_ready_pod_is_available_only_after_min_ready_seconds() -> None:
    owner = replica_set(replicas=1, min_ready_seconds=60)
    fresh = mine("a", ready_since=NOW - 20)
    assert "availableReplicas" not in status(owner, fresh)
    assert step(owner, fresh).look_again == 40
    assert status(owner, mine("a", ready_since=NOW - 61))["availableReplicas"] == 1


def test_an_unchanged_status_is_not_written() -> None:
    assert status(replica_set(replicas=1, available=1), mine("a")) == {}


def test_pods_that_could_not_be_made_show_as_a_condition_until_they_can() -> None:
    failure = replica_failure("FailedCreate", "quota", NOW)
    changed = status(replica_set(replicas=1, present=0), failure=failure)
    assert [(c["type"], c["reason"]) for c in changed["conditions"]] == [("ReplicaFailure", "FailedCreate")]
    owner = replica_set(replicas=0, present=0)
    failing = replace(owner, status=replace(owner.status, conditions=[failure]))
    assert status(failing)["conditions"] is None
