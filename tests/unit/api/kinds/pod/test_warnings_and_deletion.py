"""What a client is told of a Pod that is accepted, and how long a Pod gets to end."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.kinds.pod import POD

from .manifests import container, pod

Obj = dict[str, Any]
C = "spec.containers[0]"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        (
            {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
            [
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "
                '"kubernetes.io/os" instead'
            ],
        ),
        (
            {"containers": [container(resources={"requests": {"memory": "1500m"}})]},
            [f'{C}.resources.requests[memory]: fractional byte value "1500m" is invalid, must be an integer'],
        ),
        (
            {"containers": [container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}])]},
            [],
        ),
        (
            {"containers": [container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}])]},
            [f'{C}.env[1]: hides previous definition of "A", which may be dropped when using apply'],
        ),
        (
            {"containers": [container(ports=[{"containerPort": 80}, {"containerPort": 80, "name": "x"}])]},
            [f"{C}.ports[1]: duplicate port definition with {C}.ports[0]"],
        ),
        (
            {"imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}]},
            [
                'spec.imagePullSecrets[1].name: duplicate name "a"',
                'spec.imagePullSecrets[2].name: invalid empty name ""',
            ],
        ),
        (
            {"volumes": [{"name": "v", "gitRepo": {"repository": "r"}}]},
            ["spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"],
        ),
    ],
)
def test_what_is_accepted_but_not_right_is_a_warning(spec: Obj, expected: list[str]) -> None:
    assert POD.warnings(pod(**spec)) == expected


def test_app_armor_annotations_are_deprecated() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    warning = f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    assert POD.warnings(pod({"annotations": {key: "unconfined"}})) == [warning]
    general = {"appArmorProfile": {"type": "Unconfined"}}
    assert POD.warnings(pod({"annotations": {key: "unconfined"}}, securityContext=general)) == []


def test_updates_of_pods_bring_no_warnings() -> None:
    old = pod(nodeSelector={"beta.kubernetes.io/os": "linux"})
    assert POD.update_warnings is not None
    assert POD.update_warnings(old, old) == []


@pytest.mark.parametrize(
    ("spec", "phase", "asked", "seconds"),
    [
        ({}, "Pending", None, 0),
        ({}, "Pending", 10, 0),
        ({"nodeName": "n"}, "Running", None, 30),
        ({"nodeName": "n"}, "Running", 5, 5),
        ({"nodeName": "n"}, "Running", 0, 0),
        ({"nodeName": "n"}, "Running", -1, 1),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 7}, "Pending", None, 7),
        ({"nodeName": "n"}, "Succeeded", None, 0),
        ({"nodeName": "n"}, "Failed", 10, 0),
    ],
)
def test_only_a_pod_that_a_node_runs_gets_time_to_end(
    spec: Obj, phase: str, asked: int | None, seconds: int
) -> None:
    made = pod(**spec)
    made["status"]["phase"] = phase
    assert POD.graceful is not None
    assert POD.graceful(made, asked) == seconds
