"""Nodes that fall silent: marked, tainted, their Pods out of the endpoints and, in time, gone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.api.objects import Node, Pod, Taint, Toleration
from fairway.api.resources import LEASES, NODES, PODS
from fairway.api.timestamps import stamp
from fairway.controllers.nodelifecycle.controller import NodeLifecycleController
from fairway.controllers.nodelifecycle.plan import (
    NOT_READY,
    UNREACHABLE,
    plan_evictions,
    plan_taints,
    plan_unready_pods,
)
from fairway.controllers.writes import Delete, Patch

from .fake_cluster import fake_cluster
from .objects import NOW, node, pod
from .test_late_watches import running_pod


def taints(given: Node) -> list[tuple[str, str]] | None:
    """The taints a node is given; None if they are right already."""
    for write in plan_taints(given, NOW):
        assert isinstance(write, Patch)
        return [(t.key, t.effect) for t in write.patch["spec"]["taints"] or ()]
    return None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (node("a"), None),
        (node("a", ready="False"), [(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")]),
        (node("a", ready="Unknown"), [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]),
        (node("a", unschedulable=True), [("node.kubernetes.io/unschedulable", "NoSchedule")]),
        (node("a", taints=[(NOT_READY, "", "NoSchedule")]), []),
        (node("a", taints=[("gpu", "yes", "NoSchedule")]), None),
        (node("a", taints=[("gpu", "yes", "NoSchedule"), (UNREACHABLE, "", "NoExecute")]),
         [("gpu", "NoSchedule")]),
    ],
)  # fmt: skip
def test_taints_follow_the_state_of_a_node(given: Node, expected: Any) -> None:
    assert taints(given) == expected


def silent_since(moment: float) -> Node:
    return msgspec.structs.replace(
        node("a", ready="Unknown"),
        spec=msgspec.structs.replace(
            node("a").spec, taints=[Taint(UNREACHABLE, effect="NoExecute", time_added=stamp(moment))]
        ),
    )


@pytest.mark.parametrize(
    ("about", "tolerations", "evicted", "next_one"),
    [
        ("tolerates nothing", None, True, None),
        ("for five minutes", [Toleration(UNREACHABLE, "Exists", "", "NoExecute", 300)], False, 200),
        ("for a minute, long over", [Toleration(UNREACHABLE, "Exists", "", "NoExecute", 60)], True, None),
        ("for ever", [Toleration("", "Exists")], False, None),
    ],
)
def test_a_pod_leaves_when_its_patience_ends(
    about: str, tolerations: Any, evicted: bool, next_one: float | None
) -> None:
    given = pod("p", "10.0.0.1", tolerations=tolerations)
    writes, soonest = plan_evictions(silent_since(NOW - 100), [given], NOW)
    assert [type(w) for w in writes] == ([Delete] if evicted else []), about
    assert soonest == next_one


def test_pods_of_a_node_that_is_not_ready_are_not_ready() -> None:
    (write,) = plan_unready_pods(node("a", ready="Unknown"), [pod("p"), pod("q", ready=False)], NOW)
    assert isinstance(write, Patch)
    condition = write.patch["status"]["conditions"][-1]
    assert (write.name, condition.status, condition.reason) == ("p", "False", "NodeNotReady")
    assert not plan_unready_pods(node("a"), [pod("p")], NOW)


class World:
    """Two nodes; `alive` lists those that go on renewing their lease."""

    def __init__(self) -> None:
        self.now = NOW
        self.cluster, self.client = fake_cluster()
        self.cluster.now = lambda: self.now
        self.controller = NodeLifecycleController(self.cluster)
        ready = [{"type": "Ready", "status": "True"}]
        for name in ("n1", "n2"):
            self.client.put(NODES, {"metadata": {"name": name}, "spec": {}, "status": {"conditions": ready}})
        patient = [
            {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        ]
        given = running_pod("p", "10.0.0.1")
        given["spec"]["tolerations"] = patient
        self.client.put(PODS, given)

    async def pass_time(self, seconds: int, *alive: str) -> None:
        for _ in range(seconds // 10):
            self.now += 10
            for name in alive:
                lease = {"metadata": {"name": name, "namespace": "kube-node-lease"},
                         "spec": {"renewTime": stamp(self.now)}}  # fmt: skip
                self.client.put(LEASES, lease)
            self.client.deliver()
            for name in ("n1", "n2"):
                await self.controller.loop.look_at(name)

    def ready(self, name: str) -> str:
        conditions = self.client.objects[NODES, name]["status"]["conditions"]
        return next(str(c["status"]) for c in conditions if c["type"] == "Ready")

    def pod(self) -> Pod:
        return msgspec.convert(self.client.objects[PODS, "shop/p"], Pod)


async def test_a_node_that_renews_its_lease_stays_ready() -> None:
    world = World()
    await world.pass_time(200, "n1", "n2")
    assert (world.ready("n1"), world.ready("n2")) == ("True", "True")


async def test_a_silent_node_becomes_unknown_and_its_pods_unready() -> None:
    world = World()
    await world.pass_time(40, "n2")
    assert world.ready("n1") == "True"
    await world.pass_time(40, "n2")
    assert (world.ready("n1"), world.ready("n2")) == ("Unknown", "True")
    assert world.pod().status.condition("Ready").status == "False"  # type: ignore[union-attr]


async def test_a_pod_of_a_silent_node_goes_when_its_patience_ends() -> None:
    world = World()
    await world.pass_time(300, "n2")
    assert world.client.all(PODS)
    await world.pass_time(100, "n2")
    assert not world.client.all(PODS)


async def test_a_node_heard_of_again_is_as_before() -> None:
    world = World()
    await world.pass_time(80, "n2")
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    world.client.put(NODES, {**world.client.objects[NODES, "n1"], "status": status})
    await world.pass_time(100, "n1", "n2")
    assert world.ready("n1") == "True"
    assert "taints" not in world.client.objects[NODES, "n1"]["spec"]


async def test_when_all_are_silent_pods_are_unready_but_nobody_is_evicted() -> None:
    world = World()
    await world.pass_time(600)
    assert world.ready("n1") == "Unknown"
    assert world.pod().status.condition("Ready").status == "False"  # type: ignore[union-attr]


async def test_after_the_api_server_was_away_nodes_get_time_to_be_heard_of() -> None:
    world = World()
    await world.pass_time(50, "n1", "n2")
    world.client.away = True
    await world.pass_time(200)
    world.client.away = False
    await world.pass_time(10)
    assert world.pod().status.condition("Ready").status == "True"  # type: ignore[union-attr]
    await world.pass_time(10, "n1", "n2")
    assert world.pod().status.condition("Ready").status == "True"  # type: ignore[union-attr]
