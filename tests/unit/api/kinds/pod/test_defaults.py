"""What a Pod is filled in with."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairway.api.kinds.pod import POD

from .manifests import container, pod, sent

OBJ = dict[str, Any]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("localhost:5000/nginx:1.27", "IfNotPresent"),
        (f"nginx@sha256:{'a' * 64}", "IfNotPresent"),
        (f"nginx:latest@sha256:{'a' * 64}", "Always"),
    ],
)
def test_only_images_that_may_change_are_always_pulled(image: str, policy: str) -> None:
    assert pod(containers=[container(image=image)])["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_requests_follow_limits_where_they_are_not_given() -> None:
    limits = {"cpu": "1", "memory": "1Gi"}
    made = pod(containers=[container(resources={"limits": limits, "requests": {"cpu": "500m"}})])
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}


def test_ports_on_the_host_network_are_host_ports() -> None:
    made = pod(hostNetwork=True, containers=[container(ports=[{"containerPort": 80}])])
    assert made["spec"]["containers"][0]["ports"] == [
        {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
    ]


def test_the_old_name_of_the_service_account_is_as_good_as_the_new_one() -> None:
    for spec in (pod(serviceAccount="a")["spec"], pod(serviceAccountName="a")["spec"]):
        assert (spec["serviceAccount"], spec["serviceAccountName"]) == ("a", "a")


def test_a_volume_without_a_source_is_an_empty_folder() -> None:
    assert pod(volumes=[{"name": "v"}])["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_files_of_volumes_are_readable_by_all() -> None:
    sources: list[OBJ] = [
        {"configMap": {"name": "a"}},
        {"secret": {"secretName": "a"}},
        {"downwardAPI": {"items": []}},
        {"projected": {"sources": []}},
    ]
    made = pod(volumes=[{"name": f"v{index}", **source} for index, source in enumerate(sources)])
    for volume, source in zip(made["spec"]["volumes"], sources, strict=True):
        assert volume[next(iter(source))]["defaultMode"] == 0o644


def test_filling_in_twice_is_the_same_as_once() -> None:
    probe = {"httpGet": {"port": 80}}
    obj = sent(
        containers=[container(livenessProbe=probe, lifecycle={"preStop": {"httpGet": {"port": 80}}})],
        initContainers=[container("i", restartPolicy="Always", ports=[{"containerPort": 1}])],
        volumes=[{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}],
        topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}],
    )
    POD.default(obj)
    once = copy.deepcopy(obj)
    POD.default(obj)
    assert obj == once


def test_what_a_client_says_of_the_status_is_dropped_on_creation() -> None:
    obj = sent()
    obj["status"] = {"phase": "Running", "podIP": "10.0.0.1"}
    POD.prepare_create(obj)
    assert obj["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_negative_grace_period_becomes_one_second() -> None:
    assert pod(terminationGracePeriodSeconds=-5)["spec"]["terminationGracePeriodSeconds"] == 1


def test_a_gated_pod_says_why_it_is_not_scheduled() -> None:
    (condition,) = pod(schedulingGates=[{"name": "a/b"}])["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "PodScheduled",
        "False",
        "SchedulingGated",
    )


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([{}], "BestEffort"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"limits": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"example.com/gpu": "1"}}], "BestEffort"),
    ],
)
def test_the_quality_of_service_follows_from_requests_and_limits(resources: list[OBJ], expected: str) -> None:
    containers = [container(f"c{index}", resources=each) for index, each in enumerate(resources)]
    assert pod(containers=containers)["status"]["qosClass"] == expected


def test_label_keys_of_a_spreading_constraint_become_part_of_its_selector() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
        "matchLabelKeys": ["pod-template-hash"],
    }
    made = pod({"labels": {"pod-template-hash": "x1"}}, topologySpreadConstraints=[constraint])
    (merged,) = made["spec"]["topologySpreadConstraints"]
    assert merged["labelSelector"]["matchExpressions"] == [
        {"key": "pod-template-hash", "operator": "In", "values": ["x1"]}
    ]


def test_an_app_armor_annotation_becomes_a_field() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    made = pod({"annotations": {key: "localhost/mine"}})
    assert made["spec"]["containers"][0]["securityContext"] == {
        "appArmorProfile": {"type": "Localhost", "localhostProfile": "mine"}
    }
    general = {"appArmorProfile": {"type": "Unconfined"}}
    made = pod({"annotations": {key: "unconfined"}}, securityContext=general)
    assert "securityContext" not in made["spec"]["containers"][0]
