"""Namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.kinds.namespace import NAMESPACE, validate_finalize

Obj = dict[str, Any]


def namespace(
    phase: str = "Active", finalizers: tuple[str, ...] = ("kubernetes",), ending: bool = False
) -> Obj:
    metadata: Obj = {"name": "ns"} | ({"deletionTimestamp": "2026-01-01T00:00:00Z"} if ending else {})
    return {"metadata": metadata, "spec": {"finalizers": list(finalizers)}, "status": {"phase": phase}}


def test_every_namespace_bears_its_name_as_a_label() -> None:
    obj: Obj = {"metadata": {"name": "ns", "labels": {"kubernetes.io/metadata.name": "other"}}}
    NAMESPACE.default(obj)
    assert obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": "ns"}


def test_a_new_namespace_is_active_and_held_by_kubernetes() -> None:
    obj: Obj = {
        "metadata": {"name": "ns"},
        "spec": {"finalizers": ["a/b"]},
        "status": {"phase": "Terminating"},
    }
    NAMESPACE.default(obj)
    NAMESPACE.prepare_create(obj)
    assert obj["spec"]["finalizers"] == ["a/b", "kubernetes"]
    assert obj["status"] == {"phase": "Active"}


def test_finalizers_change_only_through_finalize() -> None:
    new = namespace(finalizers=())
    NAMESPACE.prepare_update(new, namespace())
    assert new["spec"]["finalizers"] == ["kubernetes"]
    found = validate_finalize(namespace(finalizers=("odd",)), namespace())
    assert [error.message() for error in found] == [
        'spec.finalizers[0]: Invalid value: "odd": name is neither a standard finalizer name nor is it fully '
        "qualified"
    ]
    assert validate_finalize(namespace(finalizers=("a.b/c",)), namespace()) == []


@pytest.mark.parametrize(
    ("phase", "ending", "detail"),
    [
        ("Active", False, ""),
        ("Terminating", False, "may only be 'Active' if `deletionTimestamp` is empty"),
        ("Terminating", True, ""),
        ("Active", True, "may only be 'Terminating' if `deletionTimestamp` is not empty"),
    ],
)
def test_the_phase_is_terminating_exactly_while_the_namespace_is_ending(
    phase: str, ending: bool, detail: str
) -> None:
    assert NAMESPACE.status is not None
    old = namespace(ending=ending)
    found = NAMESPACE.status.validate_update(namespace(phase, ending=ending), old)
    expected = [f'status.Phase: Invalid value: "{phase}": {detail}'] if detail else []
    assert [error.message() for error in found] == expected
