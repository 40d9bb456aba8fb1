"""Which families a Service gets: the whole table of policies, clusters and changes."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.apiserver.allocators.families import fill_families

V4, V6 = ("IPv4",), ("IPv6",)
BOTH, BOTH6 = ("IPv4", "IPv6"), ("IPv6", "IPv4")


def filled(available: tuple[str, ...], before: dict[str, Any] | None = None, **spec: Any) -> Any:
    fields = {"type": "ClusterIP", "selector": {"a": "b"}} | spec
    errors = fill_families(fields, before, available)
    if errors:
        return [error.message() for error in errors]
    return fields.get("ipFamilyPolicy"), fields.get("ipFamilies")


@pytest.mark.parametrize(
    ("available", "spec", "expected"),
    [
        (V4, {}, ("SingleStack", ["IPv4"])),
        (V6, {}, ("SingleStack", ["IPv6"])),
        (BOTH6, {"ipFamilyPolicy": "PreferDualStack"}, ("PreferDualStack", ["IPv6", "IPv4"])),
        (V4, {"ipFamilyPolicy": "PreferDualStack"}, ("PreferDualStack", ["IPv4"])),
        (BOTH, {"ipFamilies": ["IPv6"]}, ("SingleStack", ["IPv6"])),
        (
            BOTH,
            {"ipFamilies": ["IPv6"], "ipFamilyPolicy": "RequireDualStack"},
            ("RequireDualStack", ["IPv6", "IPv4"]),
        ),
        (BOTH, {"clusterIP": "fd00::1", "clusterIPs": ["fd00::1"]}, ("SingleStack", ["IPv6"])),
        (
            V4,
            {"clusterIP": "None", "clusterIPs": ["None"], "selector": None},
            ("RequireDualStack", ["IPv4", "IPv6"]),
        ),
        (
            V4,
            {"clusterIP": "None", "clusterIPs": ["None"], "ipFamilyPolicy": "PreferDualStack"},
            ("PreferDualStack", ["IPv4"]),
        ),
        (V4, {"type": "ExternalName"}, (None, None)),
    ],
)
def test_a_new_service_gets_its_families(available: Any, spec: Any, expected: Any) -> None:
    assert filled(available, **spec) == expected


@pytest.mark.parametrize(
    ("available", "spec", "expected"),
    [
        (
            V4,
            {"ipFamilies": ["IPv6"]},
            'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
        ),
        (
            V4,
            {"clusterIP": "fd00::1", "clusterIPs": ["fd00::1"]},
            'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
        ),
        (
            BOTH,
            {"ipFamilyPolicy": "SingleStack", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "fd00::1"]},
            "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or "
            "'PreferDualStack' when multiple cluster IPs are specified",
        ),
        (
            BOTH,
            {"ipFamilyPolicy": ""},
            'spec.ipFamilyPolicy: Unsupported value: "": supported values: "PreferDualStack",'
            ' "RequireDualStack", "SingleStack"',
        ),
    ],
)
def test_what_the_cluster_does_not_have_is_refused(available: Any, spec: Any, expected: str) -> None:
    assert filled(available, **spec) == [expected]


STORED = {
    "type": "ClusterIP",
    "clusterIP": "10.0.0.1",
    "clusterIPs": ["10.0.0.1"],
    "ipFamilies": ["IPv4"],
    "ipFamilyPolicy": "PreferDualStack",
}


def test_preferring_two_families_is_no_reason_to_change_when_the_cluster_does() -> None:
    spec = dict(STORED)
    assert filled(BOTH, STORED, **spec) == ("PreferDualStack", ["IPv4"])


def test_asking_anew_is_a_reason() -> None:
    stored = STORED | {"ipFamilyPolicy": "SingleStack"}
    assert filled(BOTH, stored, **STORED) == ("PreferDualStack", ["IPv4", "IPv6"])


def test_a_policy_that_is_left_out_stays_as_it_was() -> None:
    spec = {name: value for name, value in STORED.items() if name not in ("ipFamilyPolicy", "ipFamilies")}
    assert filled(BOTH, STORED | {"ipFamilyPolicy": "RequireDualStack"}, **spec) == (
        "RequireDualStack",
        ["IPv4", "IPv6"],
    )
