"""Addresses, networks and ports: strict for new values, with the words Kubernetes 1.37 has for the rest."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.validation.addresses import is_strict_ip, read_cidr, read_ip
from fairway.api.validation.network import (
    cidr_warnings,
    ip_warnings,
    validate_cidr,
    validate_ip,
    validate_port,
    validate_port_number,
    validate_reachable_ip,
)

NOT_AN_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_A_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
ZEROS = "must not have leading 0s"
MAPPED = "must not be an IPv4-mapped IPv6 address"
CIDR_ZEROS = "must not have leading 0s in IP or prefix length"
BEYOND = "must not have bits set beyond the prefix length"


@pytest.mark.parametrize(
    ("value", "errors"),
    [
        ("10.9.8.7", []),
        ("0.0.0.0", []),
        ("2001:db8::1", []),
        ("2001:DB8:0:0::1", []),
        ("::", []),
        ("1:2:3:4:5:6:7::", []),
        ("::ffff:10.0.0.1", [MAPPED]),
        ("::ffff:a00:1", [MAPPED]),
        ("010.001.000.005", [ZEROS]),
        ("::ffff:010.0.0.1", [ZEROS]),
        ("fd00::00001", [ZEROS]),
        ("", [NOT_AN_IP]),
        ("abc", [NOT_AN_IP]),
        ("1.2.3", [NOT_AN_IP]),
        ("1.2.3.4.5", [NOT_AN_IP]),
        ("1.2.3.256", [NOT_AN_IP]),
        ("1.2.3.4 ", [NOT_AN_IP]),
        ("1.2.3.٤", [NOT_AN_IP]),
        ("fe80::1%eth0", [NOT_AN_IP]),
        ("fd00::12345", [NOT_AN_IP]),
        ("1::2::3", [NOT_AN_IP]),
        ("10.0.0.0/8", [NOT_AN_IP]),
        ("[::1]", [NOT_AN_IP]),
        ("None", [NOT_AN_IP]),
    ],
)
def test_an_address_has_to_be_written_strictly(value: str, errors: list[str]) -> None:
    assert [error.detail for error in validate_ip("f", value)] == errors


@pytest.mark.parametrize(
    ("value", "errors"),
    [
        ("fd00::1", []),
        ("fd00:0::1", ['must be in canonical form ("fd00::1")']),
        ("FD00::1", ['must be in canonical form ("fd00::1")']),
        ("10.96.0.072", [ZEROS]),
    ],
)
def test_some_fields_want_the_one_canonical_form(value: str, errors: list[str]) -> None:
    assert [error.detail for error in validate_ip("f", value, must_be_canonical=True)] == errors


def test_an_address_may_have_to_be_of_one_family() -> None:
    assert [error.detail for error in validate_ip("f", "fd00::1", only="IPv4")] == ["must be an IPv4 address"]
    assert [error.detail for error in validate_ip("f", "10.0.0.1", only="IPv6")] == [
        "must be an IPv6 address"
    ]
    assert validate_ip("f", "10.0.0.1", only="IPv4") == []


@pytest.mark.parametrize(
    ("value", "errors"),
    [
        ("10.0.0.1", []),
        ("224.0.1.1", []),
        ("ff05::1", []),
        ("0.0.0.0", ["may not be unspecified (0.0.0.0)"]),
        ("::", ["may not be unspecified (::)"]),
        ("127.9.9.9", ["may not be in the loopback range (127.0.0.0/8, ::1/128)"]),
        ("::1", ["may not be in the loopback range (127.0.0.0/8, ::1/128)"]),
        ("::ffff:127.0.0.1", ["may not be in the loopback range (127.0.0.0/8, ::1/128)"]),
        ("169.254.1.1", ["may not be in the link-local range (169.254.0.0/16, fe80::/10)"]),
        ("fe80::1", ["may not be in the link-local range (169.254.0.0/16, fe80::/10)"]),
        ("224.0.0.5", ["may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"]),
        ("ff02::1", ["may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"]),
        ("x", ["must be a valid IP address"]),
    ],
)
def test_an_address_that_only_means_something_locally_is_refused(value: str, errors: list[str]) -> None:
    assert [error.detail for error in validate_reachable_ip("f", value)] == errors


@pytest.mark.parametrize(
    ("value", "errors"),
    [
        ("10.96.0.0/16", []),
        ("10.96.0.1/32", []),
        ("0.0.0.0/0", []),
        ("2001:db8::/64", []),
        ("10.96.0.1/16", [BEYOND]),
        ("010.96.0.0/16", [CIDR_ZEROS]),
        ("10.96.0.0/016", [CIDR_ZEROS]),
        ("::ffff:10.0.0.0/104", ["must not have an IPv4-mapped IPv6 address"]),
        ("10.96.0.0", [NOT_A_CIDR]),
        ("10.96.0.0/33", [NOT_A_CIDR]),
        ("10.96.0.0/", [NOT_A_CIDR]),
        ("10.96.0.0/-1", [NOT_A_CIDR]),
        ("10.96.0.0/255.255.0.0", [NOT_A_CIDR]),
        ("2001:db8::/129", [NOT_A_CIDR]),
        ("abc/8", [NOT_A_CIDR]),
    ],
)
def test_a_network_has_to_be_written_strictly(value: str, errors: list[str]) -> None:
    assert [error.detail for error in validate_cidr("f", value)] == errors


def test_a_network_may_have_to_be_canonical_or_of_one_family() -> None:
    found = validate_cidr("f", "FD00::/112", must_be_canonical=True, only="IPv4")
    details = ['must be in canonical form ("fd00::/112")', "must be an IPv4 CIDR"]
    assert [error.detail for error in found] == details


@pytest.mark.parametrize(
    ("value", "warnings"),
    [
        ("10.0.0.1", []),
        ("fd00::1", []),
        (
            "FD00:10:96::21",
            ['f: IPv6 address "FD00:10:96::21" should be in RFC 5952 canonical format ("fd00:10:96::21")'],
        ),
        (
            "::ffff:10.0.0.1",
            [
                'f: non-standard IP address "::ffff:10.0.0.1" will be considered invalid in a future '
                'Kubernetes release: use "10.0.0.1"'
            ],
        ),
        (
            "010.0.0.1",
            [
                'f: non-standard IP address "010.0.0.1" will be considered invalid in a future Kubernetes '
                'release: use "10.0.0.1"'
            ],
        ),
        ("abc", []),
    ],
)
def test_odd_addresses_are_warned_about(value: str, warnings: list[str]) -> None:
    assert ip_warnings("f", value) == warnings


@pytest.mark.parametrize(
    ("value", "warnings"),
    [
        ("10.0.0.0/8", []),
        (
            "10.0.0.1/8",
            [
                'f: CIDR value "10.0.0.1/8" is ambiguous in this context '
                '(should be "10.0.0.0/8" or "10.0.0.1/32"?)'
            ],
        ),
        (
            "::ffff:10.0.0.0/104",
            [
                'f: non-standard CIDR value "::ffff:10.0.0.0/104" will be considered invalid in a future '
                'Kubernetes release: use "10.0.0.0/8"'
            ],
        ),
        (
            "FD00::/8",
            ['f: IPv6 CIDR value "FD00::/8" should be in RFC 5952 canonical format ("fd00::/8")'],
        ),
        ("abc", []),
    ],
)
def test_odd_networks_are_warned_about(value: str, warnings: list[str]) -> None:
    assert cidr_warnings("f", value) == warnings


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_ports_outside_the_range_are_refused(port: int) -> None:
    (error,) = validate_port_number("spec.ports[0].port", port)
    expected = f"spec.ports[0].port: Invalid value: {port}: must be between 1 and 65535, inclusive"
    assert error.message() == expected


@pytest.mark.parametrize("port", [1, 65535, "http", "a-1"])
def test_ports_go_by_number_or_name(port: int | str) -> None:
    assert validate_port("f", port) == []


def test_a_target_port_that_looks_like_a_number_is_no_name() -> None:
    (error,) = validate_port("f", "8080")
    assert error.message() == 'f: Invalid value: "8080": must contain at least one letter (a-z)'


@given(st.ip_addresses(v=4))
def test_every_ipv4_address_is_read_back(address: IPv4Address) -> None:
    padded = ".".join(f"{part:03d}" for part in address.packed)
    assert read_ip(str(address)) == read_ip(padded) == address
    assert is_strict_ip(str(address))


@given(st.ip_addresses(v=6), st.integers(0, 128))
def test_every_ipv6_address_and_network_is_read_back(address: IPv6Address, length: int) -> None:
    parsed = read_cidr(f"{address.exploded}/{length}")
    assert parsed is not None
    assert (parsed.address, parsed.network.prefixlen) == (address, length)


@given(st.text(alphabet="0123456789abcdefF:./%x ", max_size=24))
def test_what_is_read_strictly_is_read_leniently_as_the_same(text: str) -> None:
    if is_strict_ip(text):
        mapped = getattr(ip_address(text), "ipv4_mapped", None)
        assert read_ip(text) == (mapped or ip_address(text))
