"""Endpoints and EndpointSlices: rules that the recordings don't cover."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.kinds.endpoints import ENDPOINTS
from fairway.api.kinds.endpointslice import ENDPOINT_SLICE

Obj = dict[str, Any]


def endpoints(*subsets: Obj) -> Obj:
    obj: Obj = {"metadata": {"name": "a"}, "subsets": list(subsets)}
    ENDPOINTS.default(obj)
    return obj


def a_slice(kind: str = "IPv4", **fields: Any) -> Obj:
    obj: Obj = {
        "metadata": {"name": "s", "generation": 3},
        "addressType": kind,
        "endpoints": [],
        "ports": None,
    }
    obj |= fields
    ENDPOINT_SLICE.default(obj)
    return obj


def texts(errors: Any) -> list[str]:
    return [error.message() for error in errors]


def test_a_subset_without_any_address_is_refused() -> None:
    assert texts(ENDPOINTS.validate(endpoints({"ports": [{"port": 80}]}))) == [
        "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"
    ]


def test_addresses_that_are_not_ready_are_judged_like_the_others() -> None:
    assert texts(ENDPOINTS.validate(endpoints({"notReadyAddresses": [{"ip": "127.0.0.1"}]}))) == [
        'subsets[0].notReadyAddresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range '
        "(127.0.0.0/8, ::1/128)"
    ]


def test_odd_addresses_are_warned_about_unless_the_controller_wrote_them() -> None:
    odd = endpoints({"addresses": [{"ip": "FD00::1"}]})
    assert ENDPOINTS.warnings(odd) == [
        'subsets[0].addresses[0].ip: IPv6 address "FD00::1" should be in RFC 5952 canonical format '
        '("fd00::1")'
    ]
    odd["metadata"]["labels"] = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    assert ENDPOINTS.warnings(odd) == []


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        (
            ["abc"],
            [
                'endpoints[0].addresses[0]: Invalid value: "abc": must be a valid IP address, (e.g. '
                "10.9.8.7 or"
                " 2001:db8::ffff)"
            ],
        ),
        (["010.0.0.1"], ['endpoints[0].addresses[0]: Invalid value: "010.0.0.1": must not have leading 0s']),
        ([f"10.0.0.{i}" for i in range(100)], []),
        (
            [f"10.0.{i}.1" for i in range(101)],
            ["endpoints[0].addresses: Too many: 101: must have at most 100 items"],
        ),
    ],
)
def test_addresses_of_a_slice(addresses: list[str], expected: list[str]) -> None:
    assert texts(ENDPOINT_SLICE.validate(a_slice(endpoints=[{"addresses": addresses}]))) == expected


def test_a_full_name_has_two_parts_at_least() -> None:
    def wrong(name: str) -> list[str]:
        return texts(ENDPOINT_SLICE.validate(a_slice("FQDN", endpoints=[{"addresses": [name]}])))

    assert wrong("example.com.") == []
    assert wrong("example") == [
        'endpoints[0].addresses[0]: Invalid value: "example": should be a domain with at least two segments '
        "separated by dots"
    ]


def test_what_is_checked_by_declaration_comes_last() -> None:
    found = texts(
        ENDPOINT_SLICE.validate(
            a_slice("IPX", endpoints=[{"addresses": [], "hostname": "A"}], ports=[{"name": "A"}])
        )
    )
    assert [text.partition(":")[0] for text in found] == [
        "endpoints[0].hostname",
        "ports[0].name",
        "addressType",
        "endpoints[0].addresses",
    ]


def test_a_thousand_endpoints_are_the_limit() -> None:
    many = [{"addresses": ["10.0.0.1"]}] * 1001
    assert texts(ENDPOINT_SLICE.validate(a_slice(endpoints=many))) == [
        "endpoints: Too many: 1001: must have at most 1000 items"
    ]


def test_hints_name_nodes_once_each() -> None:
    hints = {"forNodes": [{"name": "n1"}, {"name": "n1"}, {"name": "N"}]}
    found = texts(ENDPOINT_SLICE.validate(a_slice(endpoints=[{"addresses": ["10.0.0.1"], "hints": hints}])))
    assert found[0] == 'endpoints[0].hints.forNodes[1].name: Duplicate value: "n1"'
    assert found[1].startswith(
        'endpoints[0].hints.forNodes[2].name: Invalid value: "N": a lowercase RFC 1123'
    )


def test_labels_of_a_slice_count_as_desired_state() -> None:
    old, new = a_slice(), a_slice()
    ENDPOINT_SLICE.prepare_update(new, old)
    assert new["metadata"]["generation"] == 3
    new["metadata"]["labels"] = {"kubernetes.io/service-name": "web"}
    ENDPOINT_SLICE.prepare_update(new, old)
    assert new["metadata"]["generation"] == 4


def test_the_old_form_of_topology_is_dropped() -> None:
    obj = a_slice(endpoints=[{"addresses": ["10.0.0.1"], "deprecatedTopology": {"a": "b"}}])
    ENDPOINT_SLICE.prepare_create(obj)
    assert obj["endpoints"] == [{"addresses": ["10.0.0.1"]}]


def test_only_creation_warns_about_full_names() -> None:
    obj = a_slice("FQDN")
    assert ENDPOINT_SLICE.warnings(obj) == ["spec.addressType: FQDN endpoints are deprecated"]
    assert ENDPOINT_SLICE.update_warnings is not None
    assert ENDPOINT_SLICE.update_warnings(obj, obj) == []
