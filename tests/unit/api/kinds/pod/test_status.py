"""What may be written to a Pod's status."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairway.api.kinds.pod import POD

from .manifests import container, pod

Obj = dict[str, Any]


def status_messages(old: Obj, **status: Any) -> list[str]:
    assert POD.status is not None
    new = copy.deepcopy(old)
    new["status"] = {**new["status"], **status}
    POD.default(new)
    POD.status.prepare_update(new, old)
    return [error.message() for error in POD.status.validate_update(new, old)]


def ended(name: str = "c", code: int = 0) -> Obj:
    return {"name": name, "state": {"terminated": {"exitCode": code}}}


def running(name: str = "c") -> Obj:
    return {"name": name, "state": {"running": {}}}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"podIP": "10.0.0.1", "hostIP": "10.0.0.9"}, []),
        (
            {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
            [
                'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no '
                "more than one "
                "IP for each IP family"
            ],
        ),
        ({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, []),
        (
            {"observedGeneration": -1},
            ["status.observedGeneration: Invalid value: -1: must be a non-negative integer"],
        ),
        ({"qosClass": "Guaranteed"}, ['status.qosClass: Invalid value: "Guaranteed": field is immutable']),
    ],
)
def test_a_fault_is_named(status: Obj, expected: list[str]) -> None:
    assert status_messages(pod(), **status) == expected


def test_the_class_of_a_pod_is_kept_if_a_writer_leaves_it_out() -> None:
    old = pod()
    new = copy.deepcopy(old)
    del new["status"]["qosClass"]
    assert POD.status is not None
    POD.status.prepare_update(new, old)
    assert new["status"]["qosClass"] == "BestEffort"


def test_a_bound_pod_is_not_nominated_for_another_node() -> None:
    assert status_messages(pod(nodeName="n"), nominatedNodeName="m") == [
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"
    ]


@pytest.mark.parametrize(
    ("policy", "code", "free"),
    [("Always", 1, True), ("OnFailure", 1, True), ("OnFailure", 0, False), ("Never", 1, False)],
)
def test_a_container_starts_again_only_if_its_policy_says_so(policy: str, code: int, free: bool) -> None:
    old = pod(restartPolicy=policy)
    old["status"]["containerStatuses"] = [ended(code=code)]
    found = status_messages(old, containerStatuses=[running()])
    assert (found == []) == free
    if not free:
        assert found == [
            "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
        ]


def test_init_containers_that_keep_running_may_start_again() -> None:
    old = pod(restartPolicy="Never", initContainers=[container("i", restartPolicy="Always")])
    old["status"]["initContainerStatuses"] = [ended("i", 1)]
    assert status_messages(old, initContainerStatuses=[running("i")]) == []
