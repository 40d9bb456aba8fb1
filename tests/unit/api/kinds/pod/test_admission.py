"""What admission gives a Pod or refuses it for."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.errors import StatusError
from fairway.api.kinds.pod.admission import add_default_tolerations, check_runtime_class, set_priority
from fairway.api.kinds.pod.service_account import (
    TOKEN_PATH,
    give_pull_secrets,
    limit_secrets,
    mirror_fault,
    mount_token,
    wants_token,
)

from .manifests import container, messages, pod

Obj = dict[str, Any]
STRICT: Obj = {
    "metadata": {"name": "a", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
    "secrets": [{"name": "known"}],
}


def test_every_container_without_a_mount_there_gets_the_token() -> None:
    own = {"name": "v", "mountPath": TOKEN_PATH}
    made = pod(
        serviceAccountName="default",
        containers=[container(), container("d", volumeMounts=[own])],
        initContainers=[container("i")],
        volumes=[{"name": "v"}],
    )
    spec = made["spec"]
    mount_token(spec)
    name = spec["volumes"][1]["name"]
    mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
    assert name.startswith("kube-api-access-")
    assert spec["containers"][0]["volumeMounts"] == spec["initContainers"][0]["volumeMounts"] == [mount]
    assert spec["containers"][1]["volumeMounts"] == [own]
    assert messages(made) == []


def test_no_volume_is_added_that_nothing_mounts() -> None:
    spec = pod(containers=[container(volumeMounts=[{"name": "v", "mountPath": TOKEN_PATH}])])["spec"]
    mount_token(spec)
    assert "volumes" not in spec


def test_a_volume_with_the_usual_name_is_used_as_it_is() -> None:
    spec = pod(volumes=[{"name": "kube-api-access-mine"}])["spec"]
    mount_token(spec)
    assert [volume["name"] for volume in spec["volumes"]] == ["kube-api-access-mine"]
    assert spec["containers"][0]["volumeMounts"][0]["name"] == "kube-api-access-mine"


@pytest.mark.parametrize(
    ("account", "spec", "expected"),
    [
        ({}, {}, True),
        ({"automountServiceAccountToken": False}, {}, False),
        ({"automountServiceAccountToken": False}, {"automountServiceAccountToken": True}, True),
        ({"automountServiceAccountToken": True}, {"automountServiceAccountToken": False}, False),
    ],
)
def test_the_pods_word_on_tokens_counts_before_the_accounts(account: Obj, spec: Obj, expected: bool) -> None:
    assert wants_token(account, spec) is expected


def test_pull_secrets_of_the_account_are_for_pods_without_their_own() -> None:
    account = {"imagePullSecrets": [{"name": "a"}]}
    bare, own = pod()["spec"], pod(imagePullSecrets=[{"name": "b"}])["spec"]
    give_pull_secrets(account, bare)
    give_pull_secrets(account, own)
    assert (bare["imagePullSecrets"], own["imagePullSecrets"]) == ([{"name": "a"}], [{"name": "b"}])


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"volumes": [{"name": "v", "secret": {"secretName": "known"}}]}, ""),
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "other"}}]},
            'volume with secret.secretName="other" is not allowed because service account a does not '
            "reference that "
            "secret",
        ),
        (
            {"imagePullSecrets": [{"name": "other"}]},
            'imagePullSecrets[0].name="other" is not allowed because service account a does not '
            "reference that "
            "imagePullSecret",
        ),
    ],
)
def test_a_strict_account_allows_only_its_own_secrets(spec: Obj, fault: str) -> None:
    assert limit_secrets(STRICT, pod(serviceAccountName="a", **spec)["spec"]) == fault


def test_pods_of_a_node_itself_use_nothing_that_only_the_server_has() -> None:
    assert mirror_fault(pod()["spec"]) == ""
    assert (
        mirror_fault(pod(serviceAccountName="a")["spec"]) == "a mirror pod may not reference service accounts"
    )
    secret = {"name": "v", "secret": {"secretName": "s"}}
    assert mirror_fault(pod(volumes=[secret])["spec"]) == "a mirror pod may not reference secrets"


def test_priority_follows_from_the_class() -> None:
    made = pod(priorityClassName="system-node-critical")
    set_priority(made)
    assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (
        2_000_001_000,
        "PreemptLowerPriority",
    )
    with pytest.raises(StatusError, match="no PriorityClass with name odd was found"):
        set_priority(pod(priorityClassName="odd"))
    with pytest.raises(StatusError, match=r"the integer value of priority \(5\) must not be provided"):
        set_priority(pod(priority=5))
    with pytest.raises(
        StatusError, match=r"the string value of PreemptionPolicy \(Never\) must not be provided"
    ):
        set_priority(pod(preemptionPolicy="Never"))


def test_a_toleration_of_everything_makes_the_usual_ones_unnecessary() -> None:
    spec = pod(tolerations=[{"operator": "Exists"}])["spec"]
    add_default_tolerations(spec)
    assert spec["tolerations"] == [{"operator": "Exists"}]


def test_there_are_no_runtime_classes() -> None:
    with pytest.raises(StatusError, match='pod rejected: RuntimeClass "gvisor" not found'):
        check_runtime_class(pod(runtimeClassName="gvisor"))
    with pytest.raises(
        StatusError, match="pod rejected: Pod Overhead set without corresponding RuntimeClass"
    ):
        check_runtime_class(pod(overhead={"cpu": "1"}))
