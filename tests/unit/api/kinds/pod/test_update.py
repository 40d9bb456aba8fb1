"""What may change of a Pod that exists."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.kinds.pod import POD
from fairway.api.kinds.pod.ephemeral import validate_ephemeral_update
from fairway.api.kinds.pod.update import FIXED

from .manifests import changed, container, pod, update_messages

TOLERATION = {"key": "a", "operator": "Exists"}


def test_images_deadlines_and_tolerations_may_change() -> None:
    old = pod(tolerations=[{**TOLERATION, "effect": "NoExecute", "tolerationSeconds": 5}])
    tolerations = [{**TOLERATION, "effect": "NoExecute", "tolerationSeconds": 9}, {"key": "b", "value": "c"}]
    new = changed(
        old, containers=[container(image="other:1")], activeDeadlineSeconds=9, tolerations=tolerations
    )
    assert update_messages(new, old) == []


def test_other_changes_are_refused_with_what_differs() -> None:
    old = pod()
    (message,) = update_messages(changed(old, terminationGracePeriodSeconds=5), old)
    head, _, difference = message.partition("\n")
    assert head == f"spec: Forbidden: {FIXED}"
    changes = [line for line in difference.splitlines() if line.startswith(("-", "+"))]
    assert changes == ['- "TerminationGracePeriodSeconds": 30,', '+ "TerminationGracePeriodSeconds": 5,']


def test_a_negative_grace_period_of_old_may_be_mended() -> None:
    old = pod()
    old["spec"]["terminationGracePeriodSeconds"] = -1
    assert update_messages(changed(old, terminationGracePeriodSeconds=1), old) == []


def test_tolerations_cannot_be_taken_back() -> None:
    old = pod(tolerations=[TOLERATION])
    assert update_messages(changed(old, tolerations=[{"key": "b", "operator": "Exists"}]), old) == [
        "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
    ]


def test_the_usual_tolerations_come_back_only_where_they_were() -> None:
    plain = pod()
    new = changed(plain)
    POD.prepare_update(new, plain)
    assert "tolerations" not in new["spec"]
    usual = pod(
        tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]
    )
    new = changed(usual, tolerations=None)
    POD.prepare_update(new, usual)
    assert [each["key"] for each in new["spec"]["tolerations"]] == ["node.kubernetes.io/not-ready"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (10, 5, []),
        (
            5,
            10,
            [
                "spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous value",
            ],
        ),
        (
            5,
            None,
            [
                'spec.activeDeadlineSeconds: Invalid value: "null": must not update from a positive '
                "integer to "
                "nil value"
            ],
        ),
    ],
)
def test_a_deadline_may_only_come_nearer(before: int, after: int | None, expected: list[str]) -> None:
    old = pod(activeDeadlineSeconds=before)
    assert update_messages(changed(old, activeDeadlineSeconds=after), old) == expected


def test_scheduling_gates_can_only_go() -> None:
    old = pod(schedulingGates=[{"name": "a/b"}])
    assert update_messages(changed(old, schedulingGates=None), old) == []
    assert update_messages(changed(old, schedulingGates=[{"name": "c/d"}]), old) == [
        "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling "
        "gate 'c/d'"
    ]


def test_a_gated_pod_may_become_harder_to_place_but_not_easier() -> None:
    old = pod(schedulingGates=[{"name": "a/b"}], nodeSelector={"x": "y"})
    assert update_messages(changed(old, nodeSelector={"x": "y", "q": "r"}), old) == []
    assert update_messages(changed(old, nodeSelector={"z": "1", "q": "r"}), old) == [
        'spec.nodeSelector: Invalid value: {"q":"r","z":"1"}: only additions to spec.nodeSelector '
        "are allowed (no "
        "mutations or deletions)"
    ]
    free = changed(old, schedulingGates=None)
    (message,) = update_messages(changed(free, nodeSelector={"x": "y", "q": "r"}), free)
    assert message.startswith(f"spec: Forbidden: {FIXED}")


def test_containers_cannot_come_or_go() -> None:
    old = pod()
    assert update_messages(changed(old, containers=[container(), container("d")]), old) == [
        "spec.containers: Forbidden: pod updates may not add or remove containers"
    ]


def test_a_pod_cannot_become_a_mirror() -> None:
    old = pod(nodeName="n")
    new = changed(old)
    new["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert update_messages(new, old) == [
        "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation"
    ]


# ---- ephemeral containers ----------------------------------------------------------------------------------


def ephemeral_messages(old: dict[str, Any], *containers: dict[str, Any]) -> list[str]:
    new = changed(old, ephemeralContainers=list(containers))
    return [error.message() for error in validate_ephemeral_update(new, old)]


def test_ephemeral_containers_may_be_added_and_stay_as_they_are() -> None:
    old = changed(pod(), ephemeralContainers=[container("d")])
    assert ephemeral_messages(old, container("e"), container("d")) == []
    assert ephemeral_messages(old, container("e")) == [
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "d" may not be removed\n'
    ]
    (message,) = ephemeral_messages(old, container("d", image="other:1"))
    assert message.startswith(
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "d" may not be changed\n@@ '
    )
    assert '\n- "Image": "nginx:1.27",\n+ "Image": "other:1",\n' in message


def test_ephemeral_containers_have_no_ports_and_look_at_containers_that_exist() -> None:
    wrong = container("d", ports=[{"containerPort": 1}], targetContainerName="x")
    assert ephemeral_messages(pod(), wrong) == [
        'spec.ephemeralContainers[0].targetContainerName: Not found: "x"',
        "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
    ]


def test_pods_of_a_node_itself_have_no_ephemeral_containers() -> None:
    old = pod({"annotations": {"kubernetes.io/config.mirror": "x"}}, nodeName="n")
    assert ephemeral_messages(old, container("d")) == [
        "[]: Forbidden: static pods do not support ephemeral containers"
    ]
