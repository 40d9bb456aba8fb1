"""Choosing free numbers: always a free one, the upper band first, and none is overlooked."""

from __future__ import annotations

from ipaddress import ip_network
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.apiserver.allocators.ranges import Band, address_band, pick_free, port_band

bands = st.builds(
    lambda first, lower, upper: Band(first, first + lower, first + lower + upper - 1),
    st.integers(0, 50),
    st.integers(0, 20),
    st.integers(0, 40),
)


@given(bands, st.sets(st.integers(0, 120)), st.integers())
def test_a_number_is_free_and_of_the_upper_band_while_that_has_room(
    band: Band, used: set[int], seed: int
) -> None:
    picked = pick_free(band, used.__contains__, Random(seed))
    upper = set(range(band.dynamic, band.last + 1)) - used
    lower = set(range(band.first, band.dynamic)) - used
    if upper:
        assert picked in upper
    elif lower:
        assert picked in lower
    else:
        assert picked is None


@given(bands, st.integers())
def test_a_range_can_be_used_up_to_the_last_number(band: Band, seed: int) -> None:
    rng, used = Random(seed), set[int]()
    while (number := pick_free(band, used.__contains__, rng)) is not None:
        used.add(number)
    assert used == set(range(band.first, band.last + 1))


@pytest.mark.parametrize(
    ("cidr", "first", "dynamic", "last"),
    [
        ("10.96.0.0/16", "10.96.0.1", "10.96.1.1", "10.96.255.254"),
        ("10.96.0.0/24", "10.96.0.1", "10.96.0.17", "10.96.0.254"),
        ("10.96.0.0/28", "10.96.0.1", "10.96.0.1", "10.96.0.14"),
        ("fd00::/112", "fd00::1", "fd00::101", "fd00::ffff"),
    ],
)
def test_the_lower_part_of_a_network_is_left_to_people(
    cidr: str, first: str, dynamic: str, last: str
) -> None:
    network = ip_network(cidr)
    band = address_band(network)
    make = type(network.network_address)
    assert [str(make(number)) for number in (band.first, band.dynamic, band.last)] == [first, dynamic, last]


def test_a_network_that_is_too_large_serves_nothing() -> None:
    assert pick_free(address_band(ip_network("fd00::/48")), lambda number: False, Random(1)) is None
    assert pick_free(address_band(ip_network("fd00::/64")), lambda number: False, Random(1)) is not None


def test_the_lowest_node_ports_are_left_to_people() -> None:
    assert port_band(30000, 32767) == Band(30000, 30086, 32767)
    assert port_band(30000, 30010) == Band(30000, 30000, 30010)
