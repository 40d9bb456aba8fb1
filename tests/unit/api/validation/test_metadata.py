"""What metadata may hold when an object is created, and what may change later."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.validation.metadata import validate_metadata, validate_metadata_update
from fairway.api.validation.names import label_name, subdomain_name

GOOD: dict[str, Any] = {"name": "a", "namespace": "ns"}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}


def complaints(**fields: Any) -> list[str]:
    errors = validate_metadata(GOOD | fields, namespaced=True, name_errors=subdomain_name)
    return [error.message() for error in errors]


def starts(**fields: Any) -> list[str]:
    """Complaints up to the wording of the rule."""
    return [message.split(" must")[0] for message in complaints(**fields)]


def test_sound_metadata_is_accepted() -> None:
    assert (
        complaints(
            generateName="a-",
            labels={"example.com/app": "Web_1", "empty": ""},
            annotations={"Example.com/Any": "anything at all"},
            ownerReferences=[OWNER | {"controller": True}, OWNER | {"controller": False}],
            finalizers=["example.com/keep", "kubernetes", "orphan"],
        )
        == []
    )


def test_a_name_is_needed() -> None:
    assert complaints(name="") == ["metadata.name: Required value: name or generateName is required"]


def test_names_and_prefixes_follow_the_rule_of_the_kind() -> None:
    errors = validate_metadata(
        {"name": "a.b", "generateName": "Web-"}, namespaced=False, name_errors=label_name
    )
    assert [error.field for error in errors] == ["metadata.generateName", "metadata.name"]
    assert errors[1].detail == "must not contain dots"


def test_namespaced_objects_need_a_namespace_and_others_have_none() -> None:
    assert complaints(namespace="") == ["metadata.namespace: Required value"]
    assert complaints(namespace="a.b") == ['metadata.namespace: Invalid value: "a.b": must not contain dots']
    (error,) = validate_metadata(GOOD, namespaced=False, name_errors=label_name)
    assert error.message() == "metadata.namespace: Forbidden: not allowed on this type"


def test_the_generation_does_not_go_below_zero() -> None:
    assert complaints(generation=-1) == [
        "metadata.generation: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_labels_are_checked_key_and_value() -> None:
    assert starts(labels={"no key": "no value"}) == [
        'metadata.labels: Invalid value: "no key": name part',
        'metadata.labels: Invalid value: "no value": a valid label',
    ]


def test_annotation_keys_are_checked_in_small_letters() -> None:
    assert starts(annotations={"no good": ""}) == [
        'metadata.annotations: Invalid value: "no good": name part'
    ]


def test_annotations_together_have_a_limit() -> None:
    limit = 262144
    assert complaints(annotations={"k": "v" * (limit - 1)}) == []
    assert complaints(annotations={"k": "v" * limit}) == [
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]


def test_an_owner_is_named_in_full() -> None:
    owner = {"apiVersion": "", "kind": "", "name": "", "uid": ""}
    assert complaints(ownerReferences=[owner]) == [
        'metadata.ownerReferences[0].apiVersion: Invalid value: "": version must not be empty',
        "metadata.ownerReferences[0].kind: Required value: must not be empty",
        "metadata.ownerReferences[0].name: Required value: must not be empty",
        "metadata.ownerReferences[0].uid: Required value: must not be empty",
    ]


def test_an_event_owns_nothing() -> None:
    assert complaints(ownerReferences=[OWNER | {"kind": "Event"}]) == [
        "metadata.ownerReferences[0]: Invalid value: "
        '{"apiVersion":"v1","kind":"Event","name":"p","uid":"u"}: '
        "/v1, Kind=Event is disallowed from being an owner"
    ]


def test_one_controller_is_enough() -> None:
    owners = [OWNER | {"controller": True}, OWNER | {"controller": True, "name": "q"}]
    (message,) = complaints(ownerReferences=owners)
    assert message.startswith('metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Pod"')
    assert message.endswith(
        'Only one reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q'
    )


@pytest.mark.parametrize(
    ("finalizers", "messages"),
    [
        (["example.com/x"], []),
        (
            ["plain"],
            [
                'metadata.finalizers[0]: Invalid value: "plain": '
                "name is neither a standard finalizer name nor is it fully qualified"
            ],
        ),
        (
            ["orphan", "foregroundDeletion"],
            [
                'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
                "finalizer orphan and foregroundDeletion cannot be both set"
            ],
        ),
    ],
)
def test_finalizers_are_qualified_and_do_not_contradict(finalizers: list[str], messages: list[str]) -> None:
    assert complaints(finalizers=finalizers) == messages


STORED: dict[str, Any] = {
    "name": "a",
    "namespace": "ns",
    "uid": "u",
    "resourceVersion": "7",
    "generation": 2,
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "finalizers": ["example.com/x"],
}


def changes(old: dict[str, Any] | None = None, /, **fields: Any) -> list[str]:
    return [error.message() for error in validate_metadata_update(STORED | fields, STORED | (old or {}))]


def test_an_update_that_changes_nothing_is_accepted() -> None:
    assert changes(deletionTimestamp=None, labels={"a": "b"}) == []


@pytest.mark.parametrize("field", ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"])
def test_identity_does_not_change(field: str) -> None:
    assert changes(**{field: "other"}) == [f'metadata.{field}: Invalid value: "other": field is immutable']


def test_an_update_names_the_version_it_is_made_from() -> None:
    assert changes(resourceVersion="") == [
        'metadata.resourceVersion: Invalid value: "": must be specified for an update'
    ]


def test_the_generation_does_not_go_back() -> None:
    assert changes(generation=1) == ["metadata.generation: Invalid value: 1: must not be decremented"]


def test_labels_are_checked_again() -> None:
    assert len(changes(labels={"a": "no good"})) == 1


def test_what_is_being_deleted_gets_no_new_finalizers() -> None:
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert changes(deleted, **deleted, finalizers=["example.com/x", "b/c", "a/b"]) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"a/b", "b/c"}'
    ]
    assert changes(deleted, **deleted, finalizers=[]) == []
