"""Scheduling: which nodes will do, which of them is best, and what is said when none will."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fairway.api.objects import Container, ContainerPort, Node, Pod, ResourceRequirements, Toleration
from fairway.controllers.scheduler.plan import Snapshot, bound_to, plan, waits_for_a_node
from fairway.controllers.writes import Create, Patch

from .objects import NOW, node, pod


def wanted(**spec: Any) -> Pod:
    spec.setdefault("node", "")
    return pod("new", phase="Pending", ready=False, **spec)


def placed(
    given: Pod, *nodes: Node, present: tuple[Pod, ...] = (), related: tuple[str, ...] = ()
) -> str | None:
    return bound_to(decided(given, *nodes, present=present, related=related))


def decided(given: Pod, *nodes: Node, present: tuple[Pod, ...] = (), related: tuple[str, ...] = ()) -> Any:
    on = {n.metadata.name: [p for p in present if p.spec.node_name == n.metadata.name] for n in nodes}
    return plan(given, Snapshot(nodes, on, lambda other: other.metadata.name in related), NOW)


def affinity(*expressions: dict[str, Any], fields: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    term = {"matchExpressions": list(expressions), "matchFields": list(fields)}
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def on_port(port: int, ip: str = "", protocol: str = "TCP") -> tuple[ContainerPort, ...]:
    return (ContainerPort(port, "", protocol, port, ip),)


@pytest.mark.parametrize(
    ("about", "given", "suits"),
    [
        ("node selector", wanted(node_selector={"disk": "ssd"}), node("b", labels={"disk": "ssd"})),
        ("affinity In",
         wanted(affinity=affinity({"key": "disk", "operator": "In", "values": ["ssd", "nvme"]})),
         node("b", labels={"disk": "nvme"})),
        ("affinity Gt", wanted(affinity=affinity({"key": "cores", "operator": "Gt", "values": ["4"]})),
         node("b", labels={"cores": "8"})),
        ("affinity by name",
         wanted(affinity=affinity(
             fields=({"key": "metadata.name", "operator": "In", "values": ["b"]},))),
         node("b")),
    ],
)  # fmt: skip
def test_a_pod_goes_where_it_asks_to_go(about: str, given: Pod, suits: Node) -> None:
    assert placed(given, node("a"), suits) == "b", about


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_tainted_node_takes_only_those_who_tolerate_it(effect: str) -> None:
    gpu = node("a", taints=[("gpu", "yes", effect)])
    assert placed(wanted(), gpu) is None
    assert placed(wanted(tolerations=[Toleration("gpu", "Equal", "yes", effect)]), gpu) == "a"
    assert placed(wanted(tolerations=[Toleration("gpu", "Exists")]), gpu) == "a"
    assert placed(wanted(tolerations=[Toleration("", "Exists")]), gpu) == "a"
    assert placed(wanted(tolerations=[Toleration("gpu", "Equal", "no", effect)]), gpu) is None


def test_a_soft_taint_makes_a_node_the_last_choice() -> None:
    soft = node("a", taints=[("busy", "", "PreferNoSchedule")])
    crowd = tuple(pod(f"p{i}", node="b") for i in range(5))
    assert placed(wanted(), soft, node("b"), present=crowd) == "b"
    assert placed(wanted(), soft) == "a"


def test_a_cordoned_node_takes_nobody_new() -> None:
    assert placed(wanted(), node("a", unschedulable=True), node("b")) == "b"


@pytest.mark.parametrize(
    ("mine", "theirs", "clash"),
    [
        (on_port(80), on_port(80), True),
        (on_port(80), on_port(81), False),
        (on_port(80, protocol="UDP"), on_port(80), False),
        (on_port(80, "10.0.0.1"), on_port(80, "10.0.0.2"), False),
        (on_port(80, "10.0.0.1"), on_port(80), True),
        (on_port(80), on_port(80, "10.0.0.1"), True),
    ],
)
def test_a_host_port_is_taken_by_address_protocol_and_number(mine: Any, theirs: Any, clash: bool) -> None:
    holder = pod("there", node="a", ports=theirs)
    assert (placed(wanted(ports=mine), node("a"), present=(holder,)) is None) is clash


def test_an_ended_pod_holds_no_port() -> None:
    ended = pod("there", node="a", ports=on_port(80), phase="Succeeded")
    assert placed(wanted(ports=on_port(80)), node("a"), present=(ended,)) == "a"


def test_a_full_node_takes_nobody() -> None:
    assert placed(wanted(), node("a", room="1"), present=(pod("there", node="a"),)) is None


def test_pods_that_belong_together_are_spread_before_all_else() -> None:
    present = (pod("twin", node="a"), pod("x", node="b"), pod("y", node="b"))
    assert placed(wanted(), node("a"), node("b"), present=present, related=("twin",)) == "b"


def test_among_equals_the_emptier_node_wins() -> None:
    assert placed(wanted(), node("a"), node("b"), present=(pod("x", node="a"),)) == "b"


def test_binding_names_the_pod_by_uid() -> None:
    (write,) = decided(wanted(), node("a")).writes
    assert isinstance(write, Create)
    assert (write.subresource, write.obj["metadata"]["uid"]) == ("binding", "uid-new")


def test_when_no_node_will_do_the_pod_says_why() -> None:
    nodes = (node("a", unschedulable=True), node("b"), node("c", taints=[("gpu", "yes", "NoSchedule")]))
    result = decided(wanted(node_selector={"disk": "ssd"}), *nodes)
    (write,) = result.writes
    assert isinstance(write, Patch)
    condition = write.patch["status"]["conditions"][-1]
    assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "Unschedulable")
    assert condition.message == (
        "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint {gpu: yes}, 1 node(s) were unschedulable."
    )
    assert [notice.reason for notice in result.notices] == ["FailedScheduling"]


def test_without_nodes_it_says_so() -> None:
    (write,) = decided(wanted()).writes
    assert write.patch["status"]["conditions"][-1].message == "no nodes available to schedule pods"


def test_the_same_is_not_said_twice() -> None:
    given = wanted()
    (write,) = decided(given).writes
    told = replace(given, status=replace(given.status, conditions=write.patch["status"]["conditions"]))
    assert not decided(told).writes


@pytest.mark.parametrize(
    ("about", "given"),
    [
        ("has a node", pod("a", node="n1")),
        ("another scheduler's", wanted(scheduler_name="mine")),
        ("gated", wanted(scheduling_gates=[{"name": "wait"}])),
        ("going", pod("a", node="", going=True)),
        ("ended", pod("a", node="", phase="Failed")),
    ],
)
def test_only_pods_that_wait_for_us_are_scheduled(about: str, given: Pod) -> None:
    assert not waits_for_a_node(given), about
    assert waits_for_a_node(wanted())


# ---- resources -----------------------------------------------------------------------------------------


def asking(name: str = "new", *, on: str = "", init: tuple[Container, ...] = (), **requests: str) -> Pod:
    made = pod(name, node=on, phase="Running" if on else "Pending")
    containers = [Container("main", resources=ResourceRequirements(requests))]
    return replace(made, spec=replace(made.spec, containers=containers, init_containers=list(init)))


def starting(cpu: str, restart_policy: str | None = None) -> Container:
    needs = ResourceRequirements({"cpu": cpu})
    return Container("start", resources=needs, restart_policy=restart_policy)


def test_a_pod_goes_where_there_is_enough_left_for_what_it_asks() -> None:
    present = (asking("old", on="a", cpu="1500m"),)
    assert placed(asking(cpu="600m"), node("a", cpu="2"), node("b", cpu="1"), present=present) == "b"
    assert placed(asking(cpu="500m"), node("a", cpu="2"), present=present) == "a"


def test_what_is_lacking_is_said_once_a_resource_and_node() -> None:
    asks = {"cpu": "3", "example.com/gpu": "1", "ephemeral-storage": "1Gi"}
    step = decided(asking(**asks), node("a", cpu="2"), node("b", cpu="4"))
    (write,) = step.writes
    message = write.patch["status"]["conditions"][-1].message
    assert message == "0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient example.com/gpu."


def test_a_pod_that_asks_for_nothing_fits_on_a_full_node() -> None:
    present = (asking("old", on="a", cpu="2"),)
    assert placed(wanted(), node("a", cpu="2"), present=present) == "a"


def test_ended_pods_give_back_what_they_had() -> None:
    ended = asking("old", on="a", cpu="2")
    ended = replace(ended, status=replace(ended.status, phase="Succeeded"))
    assert placed(asking(cpu="2"), node("a", cpu="2"), present=(ended,)) == "a"


@pytest.mark.parametrize(
    ("about", "init", "cpu"),
    [
        ("init containers come one after the other", (starting("1"), starting("1")), "1"),
        ("a greedy one sets the mark", (starting("3"),), "3"),
        ("a sidecar stays", (starting("1", "Always"),), "2"),
        ("beside a sidecar", (starting("2", "Always"), starting("3")), "5"),
    ],
)
def test_starting_takes_what_it_takes_at_its_greediest(
    about: str, init: tuple[Container, ...], cpu: str
) -> None:
    given = asking(init=init, cpu="1")
    assert placed(given, node("a", cpu=cpu)) == "a", about
    short = str(int(cpu) * 1000 - 1) + "m"
    assert placed(given, node("a", cpu=short)) is None, about
