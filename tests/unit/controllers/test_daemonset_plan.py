"""DaemonSets: one Pod on every node that suits, updated a few at a time."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fairway.api.objects import Node, Pod
from fairway.controllers.daemonset.patience import Patience
from fairway.controllers.daemonset.placement import node_of
from fairway.controllers.daemonset.plan import plan
from fairway.controllers.selectors import LabelSelector
from fairway.controllers.workloads import (
    ControllerRevision,
    DaemonSet,
    DaemonSetSpec,
    DaemonSetStatus,
    RollingUpdate,
    UpdateStrategy,
)
from fairway.controllers.writes import Create, Delete, Patch

from .objects import NOW, WEB, meta, node, pod, template


class Daemons:
    def __init__(self, *nodes: Node, spec: dict[str, Any] | None = None, **fields: Any) -> None:
        base = template()
        base["spec"].update(spec or {})
        notes = {"deprecated.daemonset.template.generation": "1"}
        self.nodes = list(nodes)
        self.owner = DaemonSet(
            meta("web", generation=1, annotations=notes),
            DaemonSetSpec(selector=LabelSelector(match_labels=WEB), template=base, **fields),
        )
        self.made = 0
        self.patience: tuple[str, ...] = ()
        self.pods: dict[str, Pod] = {}
        self.history: dict[str, ControllerRevision] = {}

    def look(self) -> list[str]:
        """What happened on which node, as `+node` and `-node`."""
        told = []
        pods, history = list(self.pods.values()), list(self.history.values())
        for write in plan(self.owner, pods, history, self.nodes, NOW, self.patience).writes:
            match write:
                case Create(resource=resource) if resource.kind == "Pod":
                    self.made += 1
                    made = _pod(write, f"web-{self.made}")
                    self.pods[made.metadata.name] = made
                    told.append(f"+{node_of(made)}")
                case Create():
                    made_revision = msgspec.convert(msgspec.to_builtins(write.obj), ControllerRevision)
                    self.history[write.name] = made_revision
                case Patch(subresource="status"):
                    old = msgspec.to_builtins(self.owner.status)
                    new = {k: v for k, v in {**old, **write.patch["status"]}.items() if v is not None}
                    self.owner = replace(self.owner, status=msgspec.convert(new, DaemonSetStatus))
                case Delete():
                    told.append(f"-{node_of(self.pods.pop(write.name))}")
        return told

    def run(self) -> list[str]:
        told: list[str] = []
        for _ in range(60):
            before = (self.owner, dict(self.pods), dict(self.history))
            told += self.look()
            for name in list(self.pods):
                self.pods[name] = replace(self.pods[name], status=pod(name, "10.0.0.1").status)
            if before == (self.owner, self.pods, self.history):
                return told
        raise AssertionError("it never comes to rest")

    @property
    def places(self) -> list[str]:
        return sorted(node_of(made) for made in self.pods.values())


def _pod(write: Create, name: str) -> Pod:
    made = msgspec.convert(msgspec.to_builtins(write.obj), Pod)
    return replace(made, metadata=replace(made.metadata, name=name, uid=f"uid-{name}"))


def test_every_node_gets_one() -> None:
    daemons = Daemons(node("a"), node("b"))
    daemons.run()
    assert daemons.places == ["a", "b"]
    status = daemons.owner.status
    assert (status.desired_number_scheduled, status.number_available, status.number_unavailable) == (2, 2, 0)


def test_a_pod_is_pinned_by_affinity_and_tolerates_ailing_nodes() -> None:
    daemons = Daemons(node("a"), spec={"hostNetwork": True})
    daemons.look(), daemons.look()
    (made,) = daemons.pods.values()
    assert not made.spec.node_name
    keys = {t.key.removeprefix("node.kubernetes.io/") for t in made.spec.tolerations or ()}
    assert keys == {
        "not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable",
        "network-unavailable",
    }  # fmt: skip
    assert made.metadata.label("pod-template-generation") == "1"


@pytest.mark.parametrize(
    ("about", "given", "spec", "runs"),
    [
        ("tainted", node("a", taints=[("gpu", "yes", "NoSchedule")]), {}, False),
        ("tainted, tolerated", node("a", taints=[("gpu", "yes", "NoSchedule")]),
         {"tolerations": [{"operator": "Exists"}]}, True),
        ("softly tainted", node("a", taints=[("busy", "", "PreferNoSchedule")]), {}, True),
        ("cordoned", node("a", unschedulable=True), {}, True),
        ("not ready", node("a", ready="False", taints=[("node.kubernetes.io/not-ready", "", "NoExecute")]),
         {}, True),
        ("without the label", node("a"), {"nodeSelector": {"role": "edge"}}, False),
        ("with the label", node("a", labels={"role": "edge"}), {"nodeSelector": {"role": "edge"}}, True),
    ],
)  # fmt: skip
def test_a_node_has_to_suit(about: str, given: Node, spec: dict[str, Any], runs: bool) -> None:
    daemons = Daemons(given, spec=spec)
    daemons.run()
    assert (daemons.places == ["a"]) is runs, about


def test_a_pod_moves_with_the_label() -> None:
    daemons = Daemons(node("a", labels={"role": "edge"}), node("b"), spec={"nodeSelector": {"role": "edge"}})
    daemons.run()
    daemons.nodes = [node("a"), node("b", labels={"role": "edge"})]
    daemons.run()
    assert daemons.places == ["b"]


def test_a_new_taint_that_does_not_evict_leaves_the_pod_where_it_is() -> None:
    daemons = Daemons(node("a"))
    daemons.run()
    daemons.nodes = [node("a", taints=[("gpu", "yes", "NoSchedule")])]
    assert daemons.run() == []
    assert daemons.owner.status.number_misscheduled == 1


def test_a_failed_pod_is_replaced() -> None:
    daemons = Daemons(node("a"))
    daemons.run()
    (name,) = daemons.pods
    daemons.pods[name] = replace(daemons.pods[name], status=pod("x", phase="Failed").status)
    assert daemons.run() == ["-a", "+a"]


def test_an_update_takes_one_node_after_the_other() -> None:
    daemons = Daemons(node("a"), node("b"), node("c"))
    daemons.run()
    spec = replace(daemons.owner.spec, template=template("app:2"))
    daemons.owner = replace(daemons.owner, spec=spec)
    daemons.look()
    assert daemons.look() == ["-a"]
    assert daemons.run() == ["+a", "-b", "+b", "-c", "+c"]
    assert daemons.owner.status.updated_number_scheduled == 3


def test_on_delete_waits_for_someone_to_delete() -> None:
    daemons = Daemons(node("a"), update_strategy=UpdateStrategy("OnDelete"))
    daemons.run()
    daemons.owner = replace(daemons.owner, spec=replace(daemons.owner.spec, template=template("app:2")))
    assert daemons.run() == []
    assert daemons.owner.status.updated_number_scheduled == 0


# ---- surge ---------------------------------------------------------------------------------------------


def surging(*nodes: Node, surge: int | str = 1, image: str = "app:2") -> Daemons:
    """Complete, and given a new template."""
    strategy = UpdateStrategy("RollingUpdate", RollingUpdate(max_surge=surge, max_unavailable=0))
    daemons = Daemons(*nodes, update_strategy=strategy)
    daemons.run()
    daemons.owner = replace(daemons.owner, spec=replace(daemons.owner.spec, template=template(image)))
    daemons.look()  # the revision
    return daemons


def test_a_surging_update_adds_the_new_pod_before_it_takes_the_old_one() -> None:
    daemons = surging(node("a"), node("b"))
    assert daemons.look() == ["+a"]
    assert daemons.look() == []  # it is not ready yet
    assert daemons.run() == ["-a", "+b", "-b"]
    assert daemons.owner.status.updated_number_scheduled == 2


def test_as_many_nodes_surge_as_the_share_allows() -> None:
    daemons = surging(*(node(name) for name in "abcd"), surge="50%")
    assert daemons.look() == ["+a", "+b"]


def test_an_old_pod_that_serves_nobody_is_joined_beyond_the_surge_and_gone_with_the_next_look() -> None:
    daemons = surging(node("a"), node("b"))
    (ill,) = (name for name, made in daemons.pods.items() if node_of(made) == "b")
    daemons.pods[ill] = replace(daemons.pods[ill], status=pod(ill, ready=False).status)
    assert daemons.look() == ["+b", "+a"]
    assert "-b" in daemons.look()


def test_with_surge_a_pod_leaves_a_tainted_node_only_when_the_others_suffice() -> None:
    daemons = surging(node("a"), node("b"), node("c"))
    daemons.nodes = [node("a"), node("b"), node("c", taints=[("gpu", "yes", "NoSchedule")])]
    (ill,) = (name for name, made in daemons.pods.items() if node_of(made) == "a")
    daemons.pods[ill] = replace(daemons.pods[ill], status=pod(ill, ready=False).status)
    assert "-c" not in daemons.look()  # two are wanted, and only b and c are well
    daemons.run()
    assert daemons.places == ["a", "b"]


# ---- failures ------------------------------------------------------------------------------------------


def test_a_failed_pod_stays_while_patience_is_asked_for() -> None:
    daemons = Daemons(node("a"))
    daemons.run()
    (name,) = daemons.pods
    daemons.pods[name] = replace(daemons.pods[name], status=pod("x", phase="Failed").status)
    daemons.patience = ("a",)
    assert daemons.look() == []


def test_patience_doubles_with_every_failure_and_belongs_to_one_generation() -> None:
    patience = Patience()
    patience.removed("uid", 1, "a", 100.0)
    assert patience.held("uid", 1, 100.5) == {"a": 0.5}
    assert patience.held("uid", 1, 101.0) == {}
    patience.removed("uid", 1, "a", 101.0)
    assert patience.held("uid", 1, 102.5) == {"a": 0.5}
    assert patience.held("uid", 2, 102.5) == {}


def test_of_a_node_that_is_gone_only_pods_that_never_ran_there_are_removed() -> None:
    daemons = Daemons(node("a"), node("b"))
    daemons.run()
    (ran,) = (name for name, made in daemons.pods.items() if node_of(made) == "b")
    daemons.pods[ran] = replace(daemons.pods[ran], spec=replace(daemons.pods[ran].spec, node_name="b"))
    daemons.nodes = []
    assert daemons.run() == ["-a"]
    assert daemons.owner.status.number_misscheduled == 0
