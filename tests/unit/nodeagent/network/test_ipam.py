from ipaddress import IPv4Address, IPv4Network

import pytest

from fairway.nodeagent.network.ipam import AddressPool, NoAddressLeft


def pool(text: str = "10.244.1.0/29") -> AddressPool:
    return AddressPool(IPv4Network(text))


def test_network_gateway_and_broadcast_are_never_given_to_pods() -> None:
    addresses = pool()
    given = [str(addresses.take(f"pod-{n}")) for n in range(5)]
    assert given == [f"10.244.1.{n}" for n in (2, 3, 4, 5, 6)]
    assert str(addresses.gateway) == "10.244.1.1"


def test_a_pod_that_asks_again_keeps_its_address() -> None:
    addresses = pool()
    assert addresses.take("a") == addresses.take("a")


def test_when_none_is_left_it_says_so() -> None:
    addresses = pool("10.244.1.0/30")
    addresses.take("a")
    with pytest.raises(NoAddressLeft, match=r"10\.244\.1\.0/30"):
        addresses.take("b")


def test_a_released_address_is_the_last_to_be_given_again() -> None:
    addresses = pool()
    first = addresses.take("a")
    addresses.release("a")
    others = [addresses.take(f"pod-{n}") for n in range(4)]
    assert first not in others
    assert addresses.take("b") == first


def test_what_was_given_before_a_restart_is_not_given_twice() -> None:
    addresses = pool()
    assert addresses.restore("old", IPv4Address("10.244.1.2"))
    assert str(addresses.take("new")) == "10.244.1.3"


def test_an_address_outside_the_range_or_of_another_pod_can_not_be_restored() -> None:
    addresses = pool()
    assert not addresses.restore("a", IPv4Address("10.99.0.2"))
    assert not addresses.restore("a", IPv4Address("10.244.1.1"))
    assert addresses.restore("a", IPv4Address("10.244.1.2"))
    assert not addresses.restore("b", IPv4Address("10.244.1.2"))


def test_a_range_without_room_for_pods_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        pool("10.244.1.0/31")
