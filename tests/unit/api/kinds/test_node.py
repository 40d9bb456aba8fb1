"""Nodes."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairway.api.kinds.node import NODE, taint_not_ready

Obj = dict[str, Any]


def node(status: Obj | None = None, **spec: Any) -> Obj:
    obj: Obj = {"metadata": {"name": "n"}, "spec": spec, "status": status or {}}
    NODE.default(obj)
    NODE.prepare_create(obj)
    return obj


def messages(obj: Obj) -> list[str]:
    return [error.message() for error in NODE.validate(obj)]


def update_messages(old: Obj, **spec: Any) -> list[str]:
    new = copy.deepcopy(old)
    new["spec"] |= spec
    return [error.message() for error in NODE.validate_update(new, old)]


def test_one_range_may_be_written_either_way() -> None:
    for made in (node(podCIDR="10.0.0.0/24"), node(podCIDRs=["10.0.0.0/24"])):
        assert made["spec"] == {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}


def test_a_node_has_one_range_of_each_family() -> None:
    assert messages(node(podCIDRs=["10.0.0.0/24", "fd00::/64"])) == []
    assert messages(node(podCIDRs=["10.0.0.0/24", "10.1.0.0/24"])) == [
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one '
        "CIDR for each "
        "IP family"
    ]


def test_ranges_and_the_providers_name_are_set_once() -> None:
    assert update_messages(node(), podCIDRs=["10.0.0.0/24"], providerID="p") == []
    old = node(podCIDRs=["10.0.0.0/24"], providerID="p")
    assert update_messages(old, podCIDRs=["10.1.0.0/24"], providerID="q") == [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    ]


def test_taints_are_unique_by_key_and_effect() -> None:
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]
    assert messages(node(taints=taints)) == []
    assert messages(node(taints=[taints[0], {**taints[0], "value": "b"}])) == [
        "metadata.taints[1]: Duplicate value: "
        '{"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: '
        "taints must be unique by key and effect pair"
    ]


def test_a_new_node_is_tainted_until_it_is_ready() -> None:
    made = node(taints=[{"key": "a", "effect": "NoSchedule"}])
    taint_not_ready(made)
    taint_not_ready(made)
    assert [taint["key"] for taint in made["spec"]["taints"]] == ["a", "node.kubernetes.io/not-ready"]


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [
        ({"cpu": "2", "memory": "1Gi", "pods": "110"}, []),
        (
            {"pods": "1500m"},
            [
                'status.capacity.pods: Invalid value: "1500m": must be an integer',
                'status.allocatable.pods: Invalid value: "1500m": must be an integer',
            ],
        ),
    ],
)
def test_what_a_node_has_is_allocatable_unless_it_says_otherwise(capacity: Obj, expected: list[str]) -> None:
    made = node({"capacity": capacity})
    assert made["status"]["allocatable"] == capacity
    assert messages(made) == expected


def test_kubelets_are_no_longer_configured_through_nodes() -> None:
    source = {"configMap": {"name": "x"}}
    assert "configSource" not in node(configSource=source)["spec"]
    old, new = node(), node()
    new["spec"]["configSource"] = source
    NODE.prepare_update(new, old)
    assert "configSource" not in new["spec"]
    old["spec"]["configSource"] = new["spec"]["configSource"] = source
    NODE.prepare_update(new, old)
    assert NODE.warnings(new) == ["spec.configSource: the feature is removed"]
