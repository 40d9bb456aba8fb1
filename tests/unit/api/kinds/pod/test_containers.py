"""Rules about containers that the recordings don't cover, in Kubernetes' words and order."""

from __future__ import annotations

from typing import Any

import pytest

from .manifests import container, messages, pod, with_container

C = "spec.containers[0]"


def test_a_plain_pod_is_valid() -> None:
    assert messages(pod()) == []


def test_init_containers_and_containers_share_their_names() -> None:
    assert messages(pod(initContainers=[container("c")])) == [
        'spec.initContainers[0].name: Duplicate value: "c"'
    ]


def test_a_host_port_is_taken_once_for_each_address_and_protocol() -> None:
    ports = [
        {"containerPort": 1, "hostPort": 53},
        {"containerPort": 2, "hostPort": 53, "protocol": "UDP"},
        {"containerPort": 3, "hostPort": 53, "hostIP": "127.0.0.1"},
        {"containerPort": 4, "hostPort": 53},
    ]
    assert messages(with_container(ports=ports)) == [f'{C}.ports[3].hostPort: Duplicate value: "TCP//53"']


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"env": [{"name": "a", "valueFrom": {"secretKeyRef": {"name": "s", "key": ""}}}]},
            [f"{C}.env[0].valueFrom.secretKeyRef.key: Required value"],
        ),
        (
            {
                "env": [
                    {
                        "name": "a",
                        "valueFrom": {"fieldRef": {"apiVersion": "v2", "fieldPath": "metadata.name"}},
                    }
                ]
            },
            [
                f'{C}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting '
                "fieldPath: unsupported pod version: v2"
            ],
        ),
        (
            {
                "env": [
                    {
                        "name": "a",
                        "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "3"}},
                    }
                ]
            },
            [
                f'{C}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only '
                "divisor's "
                "values 1m and 1 are supported with the cpu resource"
            ],
        ),
        (
            {"envFrom": [{}]},
            [f'{C}.envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'],
        ),
        (
            {"envFrom": [{"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}]},
            [f'{C}.envFrom: Invalid value: "": may not have more than one field specified at a time'],
        ),
        (
            {"terminationMessagePolicy": "Odd"},
            [
                f'{C}.terminationMessagePolicy: Unsupported value: "Odd": supported values: "File", '
                '"FallbackToLogsOnError"'
            ],
        ),
        (
            {"livenessProbe": {"tcpSocket": {"port": 80}, "successThreshold": 2}},
            [f"{C}.livenessProbe.successThreshold: Invalid value: 2: must be 1"],
        ),
        (
            {"readinessProbe": {"tcpSocket": {"port": 80}, "terminationGracePeriodSeconds": 3}},
            [
                f"{C}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 3: must not be set for "
                "readinessProbes"
            ],
        ),
        (
            {"readinessProbe": {"httpGet": {"port": 80, "scheme": "FTP"}}},
            [
                f'{C}.readinessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: '
                '"HTTP", "HTTPS"'
            ],
        ),
        (
            {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
            [
                f"{C}.lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than "
                "terminationGracePeriodSeconds (30)"
            ],
        ),
        (
            {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "Odd"}]},
            [
                f'{C}.resizePolicy: Unsupported value: "Odd": supported values: "NotRequired", '
                '"RestartContainer"'
            ],
        ),
        (
            {"restartPolicy": "Odd"},
            [
                f'{C}.restartPolicy: Unsupported value: "Odd": supported values: "Always", "Never", '
                '"OnFailure"'
            ],
        ),
    ],
)
def test_a_fault_in_a_container_is_named(fields: dict[str, Any], expected: list[str]) -> None:
    assert messages(with_container(**fields)) == expected


def test_requests_are_at_most_the_limits() -> None:
    resources = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    assert messages(with_container(resources=resources)) == [
        f'{C}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'
    ]


def test_what_cannot_be_overcommitted_is_requested_as_it_is_limited() -> None:
    resources = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "2"}}
    assert messages(with_container(resources=resources)) == [
        f'{C}.resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2'
    ]


def test_resources_have_names_that_kubernetes_knows_or_that_are_qualified() -> None:
    assert messages(with_container(resources={"requests": {"odd": "1"}})) == [
        f'{C}.resources.requests[odd]: Invalid value: "odd": must be a standard resource type or '
        "fully qualified",
        f'{C}.resources.requests[odd]: Invalid value: "odd": must be a standard resource for containers',
    ]


def test_init_containers_that_end_have_no_probes_or_hooks() -> None:
    probe = {"exec": {"command": ["true"]}}
    hooks = {"postStart": {"exec": {"command": ["true"]}}}
    ending = container("i", livenessProbe=probe, lifecycle=hooks)
    detail = "Forbidden: may not be set for init containers without restartPolicy=Always"
    assert messages(pod(initContainers=[ending])) == [
        f"spec.initContainers[0].lifecycle: {detail}",
        f"spec.initContainers[0].livenessProbe: {detail}",
    ]
    assert messages(pod(initContainers=[{**ending, "restartPolicy": "Always"}])) == []


def test_mounts_are_relative_unique_and_of_known_volumes() -> None:
    mounts = [
        {"name": "v", "mountPath": "/x", "subPath": "../y"},
        {"name": "v", "mountPath": "/x"},
        {"name": "none", "mountPath": "/z"},
    ]
    made = pod(containers=[container(volumeMounts=mounts)], volumes=[{"name": "v"}])
    assert messages(made) == [
        f"{C}.volumeMounts.subPath: Invalid value: \"../y\": must not contain '..'",
        f'{C}.volumeMounts[1].mountPath: Invalid value: "/x": must be unique',
        f'{C}.volumeMounts[2].name: Not found: "none"',
    ]
