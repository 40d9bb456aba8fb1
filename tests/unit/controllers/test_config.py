"""Choosing controllers, as kube-controller-manager's flag does."""

from __future__ import annotations

import pytest

from fairway.controllers.catalog import CONTROLLERS
from fairway.controllers.config import UnknownController, chosen

KNOWN = ("a", "b", "c")


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (("*",), ["a", "b", "c"]),
        (("*", "-b"), ["a", "c"]),
        (("c", "a"), ["a", "c"]),
        ((), []),
        (("a", "-a"), []),
    ],
)
def test_a_list_chooses_controllers(selection: tuple[str, ...], expected: list[str]) -> None:
    assert chosen(selection, KNOWN) == expected


def test_a_name_nobody_has_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(UnknownController, match="a, b, c"):
        chosen(("*", "-x"), KNOWN)


def test_controllers_go_by_the_names_of_kube_controller_manager() -> None:
    assert {
        "endpoints-controller",
        "endpointslice-controller",
        "endpointslice-mirroring-controller",
        "deployment-controller",
        "replicaset-controller",
        "statefulset-controller",
        "daemonset-controller",
        "garbage-collector-controller",
        "namespace-controller",
        "serviceaccount-controller",
        "root-ca-certificate-publisher-controller",
        "scheduler",
    } <= set(CONTROLLERS)
