"""Rules of workloads that the recordings don't cover, in Kubernetes' words and order."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.kind import Kind
from fairway.api.kinds.workloads import (
    CONTROLLER_REVISION,
    DAEMON_SET,
    DEPLOYMENT,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)

from .manifests import messages, status_messages, template, update_messages, workload

SELECTED = (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET)
EVERY = (*SELECTED, REPLICATION_CONTROLLER)
NEGATIVE = "must be greater than or equal to 0"


def each_kind(kinds: tuple[Kind, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kind", kinds, ids=lambda kind: kind.resource.kind)


@each_kind(EVERY)
def test_a_plain_workload_is_valid(kind: Kind) -> None:
    assert messages(kind) == []


@each_kind(EVERY)
def test_a_template_is_judged_as_its_pods_will_be(kind: Kind) -> None:
    wrong = template(containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 70000}]}])
    assert messages(kind, template=wrong) == [
        "spec.template.spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be "
        "between 1 and "
        "65535, inclusive"
    ]


@each_kind(EVERY)
def test_pods_of_workloads_always_start_again(kind: Kind) -> None:
    assert messages(kind, template=template(restartPolicy="Never")) == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'
    ]


@each_kind(SELECTED)
def test_a_selector_has_its_own_template(kind: Kind) -> None:
    assert messages(kind, selector={"matchLabels": {"app": "b"}}) == [
        'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match '
        "template `labels`"
    ]


@each_kind(SELECTED)
def test_a_selector_never_changes(kind: Kind) -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    assert update_messages(kind, workload(kind), selector=selector) == [
        'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"Exists"}]}: '
        "field is immutable"
    ]


@each_kind((DEPLOYMENT, REPLICA_SET, STATEFUL_SET))
def test_replicas_ready_and_available_are_within_one_another(kind: Kind) -> None:
    prefix = "status." if kind is STATEFUL_SET else ""
    assert status_messages(kind, {}, {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3}) == [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
        f"status.availableReplicas: Invalid value: 3: cannot be greater than {prefix}readyReplicas",
    ]


@each_kind((DEPLOYMENT, STATEFUL_SET, DAEMON_SET))
def test_collisions_are_not_forgotten(kind: Kind) -> None:
    counted = {"replicas": 0, "collisionCount": 3}
    assert status_messages(kind, counted, counted | {"collisionCount": 2}) == [
        "status.collisionCount: Invalid value: 2: cannot be decremented"
    ]


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        (
            DEPLOYMENT,
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
            [
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when "
                "`maxSurge` is 0"
            ],
        ),
        (
            DEPLOYMENT,
            {"minReadySeconds": 700},
            ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
        ),
        (
            DEPLOYMENT,
            {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
            [
                "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` "
                "is 'Recreate'"
            ],
        ),
        (
            DAEMON_SET,
            {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}},
            [
                "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when "
                "maxUnavailable is non-zero"
            ],
        ),
        (
            DAEMON_SET,
            {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}},
            [
                "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when "
                "maxSurge is 0"
            ],
        ),
        (
            STATEFUL_SET,
            {"podManagementPolicy": "Odd", "ordinals": {"start": -1}},
            [
                "spec.podManagementPolicy: Invalid value: \"Odd\": must be 'OrderedReady' or 'Parallel'",
                f"spec.ordinals.start: Invalid value: -1: {NEGATIVE}",
            ],
        ),
        (
            STATEFUL_SET,
            {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
            [
                "spec.updateStrategy.rollingUpdate: Invalid value: "
                '{"Partition":1,"MaxUnavailable":null}: only '
                "allowed for updateStrategy 'RollingUpdate'"
            ],
        ),
        (
            REPLICATION_CONTROLLER,
            {"replicas": -1, "template": None},
            ["spec.template: Required value", f"spec.replicas: Invalid value: -1: {NEGATIVE}"],
        ),
    ],
)
def test_a_fault_is_named(kind: Kind, spec: dict[str, Any], expected: list[str]) -> None:
    assert messages(kind, **spec) == expected


def test_claims_of_a_stateful_set_are_volumes_of_its_pods() -> None:
    mounts = [{"name": "data", "mountPath": "/data"}]
    made = template(containers=[{"name": "c", "image": "i", "volumeMounts": mounts}])
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    assert messages(STATEFUL_SET, template=made, volumeClaimTemplates=[claim]) == []
    assert messages(STATEFUL_SET, template=made) == [
        'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'
    ]


def test_what_makes_a_stateful_set_is_fixed() -> None:
    old = workload(STATEFUL_SET, serviceName="a")
    assert update_messages(STATEFUL_SET, old, serviceName="b", podManagementPolicy="Parallel") == [
        'spec.serviceName: Invalid value: "b": field is immutable',
        'spec.podManagementPolicy: Invalid value: "Parallel": field is immutable',
    ]
    assert update_messages(STATEFUL_SET, old, replicas=3, template=template(hostname="x")) == []


def test_a_replication_controllers_selector_and_labels_come_from_its_template() -> None:
    made = workload(REPLICATION_CONTROLLER, selector=None)
    assert made["spec"]["selector"] == made["metadata"]["labels"] == {"app": "a"}


def test_a_template_is_warned_of_when_it_is_new_and_when_the_spec_has_changed() -> None:
    old = workload(DEPLOYMENT, template=template(nodeSelector={"beta.kubernetes.io/os": "linux"}))
    field = "spec.template.spec.nodeSelector[beta.kubernetes.io/os]"
    warning = f'{field}: deprecated since v1.14; use "kubernetes.io/os" instead'
    assert DEPLOYMENT.warnings(old) == [warning]
    assert DEPLOYMENT.update_warnings is not None
    old["metadata"]["generation"] = 1
    assert DEPLOYMENT.update_warnings(old, old) == []
    new = old | {"metadata": {**old["metadata"], "generation": 2}}
    assert DEPLOYMENT.update_warnings(new, old) == [warning]


def test_what_a_revision_holds_is_fixed_but_not_its_number() -> None:
    old = {"metadata": {"name": "r", "namespace": "ns"}, "data": {"a": 1}, "revision": 1}
    found = CONTROLLER_REVISION.validate_update(old | {"data": {"a": 2}, "revision": -1}, old)
    assert [error.message() for error in found] == [
        f"revision: Invalid value: -1: {NEGATIVE}",
        'data: Invalid value: {"a":2}: field is immutable',
    ]
    assert CONTROLLER_REVISION.validate_update(old | {"revision": 2}, old) == []
