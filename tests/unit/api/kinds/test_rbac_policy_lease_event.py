"""Roles, disruption budgets, leases and events."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.kind import Kind
from fairway.api.kinds.coordination import LEASE
from fairway.api.kinds.event import EVENT
from fairway.api.kinds.policy import POD_DISRUPTION_BUDGET
from fairway.api.kinds.rbac import ALL as RBAC

Obj = dict[str, Any]
KINDS = {kind.resource.kind: kind for kind in RBAC}
ROLE, CLUSTER_ROLE, BINDING, CLUSTER_BINDING = (
    KINDS[name] for name in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
)


def messages(kind: Kind, obj: Obj) -> list[str]:
    made: Obj = {"metadata": {"name": "a", "namespace": "ns"}, **obj}
    kind.default(made)
    return [error.message() for error in kind.validate(made)]


def test_a_rule_is_about_resources_or_about_urls() -> None:
    urls = {"verbs": ["get"], "nonResourceURLs": ["/x"]}
    assert messages(CLUSTER_ROLE, {"rules": [urls]}) == []
    assert messages(ROLE, {"rules": [urls]}) == [
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'
    ]
    both = urls | {"apiGroups": [""], "resources": ["pods"]}
    assert messages(CLUSTER_ROLE, {"rules": [both]}) == [
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and '
        "non-resource URLs"
    ]


def test_aggregation_needs_a_selector() -> None:
    assert messages(CLUSTER_ROLE, {"aggregationRule": {}}) == [
        "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if "
        "aggregationRule is non-nil"
    ]


def test_accounts_bound_in_the_whole_cluster_name_their_namespace() -> None:
    account = {"kind": "ServiceAccount", "name": "a"}
    reference = {"kind": "ClusterRole", "name": "r"}
    assert messages(CLUSTER_BINDING, {"roleRef": reference, "subjects": [account]}) == [
        "subjects[0].namespace: Required value"
    ]
    assert messages(CLUSTER_BINDING, {"roleRef": {"kind": "Role", "name": "r"}}) == [
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'
    ]


def test_users_and_groups_are_of_the_group_of_roles() -> None:
    made: Obj = {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]}
    assert messages(BINDING, made) == []
    assert made["subjects"][0]["apiGroup"] == made["roleRef"]["apiGroup"] == "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"minAvailable": "50%"}, []),
        (
            {"minAvailable": "101%"},
            ['spec.minAvailable: Invalid value: "101%": must not be greater than 100%'],
        ),
        (
            {"maxUnavailable": -1},
            ["spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"unhealthyPodEvictionPolicy": "Odd"},
            [
                'spec.unhealthyPodEvictionPolicy: Unsupported value: "Odd": supported values: "AlwaysAllow", '
                '"IfHealthyBudget"'
            ],
        ),
    ],
)
def test_a_budget_is_a_number_or_a_share(spec: Obj, expected: list[str]) -> None:
    assert messages(POD_DISRUPTION_BUDGET, {"spec": spec}) == expected


def test_a_lease_lasts_for_some_time() -> None:
    assert messages(LEASE, {"spec": {"leaseDurationSeconds": 15, "leaseTransitions": 0}}) == []
    assert messages(LEASE, {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}}) == [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ]


@pytest.mark.parametrize(
    ("namespace", "about", "fine"),
    [("ns", "ns", True), ("ns", "other", False), ("ns", "", False), ("default", "", True)],
)
def test_an_event_lives_beside_what_it_is_about(namespace: str, about: str, fine: bool) -> None:
    event = {
        "metadata": {"name": "e", "namespace": namespace},
        "involvedObject": {"namespace": about} if about else {},
    }
    expected = [f'involvedObject.namespace: Invalid value: "{about}": does not match event.namespace']
    assert messages(EVENT, event) == ([] if fine else expected)


def test_an_event_with_a_time_says_who_saw_what() -> None:
    event = {
        "metadata": {"name": "e", "namespace": "ns"},
        "involvedObject": {"namespace": "ns"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingComponent": "example.com/c",
        "reportingInstance": "c-1",
        "action": "Look",
        "reason": "Seen",
    }
    assert messages(EVENT, event) == []
    assert messages(EVENT, event | {"action": "", "reason": "x" * 129}) == [
        "action: Required value",
        'reason: Invalid value: "": can have at most 128 characters',
    ]
