"""IPVS' messages as bytes, and the errors that say what to do."""

from __future__ import annotations

import contextlib
import errno
import struct
from pathlib import Path

import pytest

from fairway.kernel.fake_ipvs import FakeIpvs
from fairway.kernel.ipvs import (
    Balancing,
    IpvsError,
    IpvsUnavailable,
    KernelIpvs,
    Order,
    ServerName,
    Target,
    Verb,
    encode,
    refusal,
)
from fairway.kernel.nfnetlink import attributes

WEB = ServerName(4, "tcp", "10.96.0.80", 80)
POD = Target("10.244.0.1", 9376)


def parts(order: Order) -> dict[int, dict[int, bytes]]:
    message = encode(order)
    assert message[:4] == bytes([order.verb, 1, 0, 0])
    return {kind: dict(attributes(data)) for kind, data in attributes(message[4:])}


def test_a_server_is_named_by_address_port_and_protocol_and_says_how_it_balances() -> None:
    found = parts(Order(Verb.ADD_SERVER, WEB, Balancing("rr", 10800)))
    service = found.pop(1)
    assert found == {}
    assert service[3] == bytes([10, 96, 0, 80]).ljust(16, b"\0")
    assert service[4] == b"\0\x50"
    assert service[6] == b"rr\0"
    assert struct.unpack("=I", service[7][:4]) == (1,)
    assert struct.unpack("=I", service[8]) == (10800,)


def test_without_affinity_nothing_is_persistent() -> None:
    assert parts(Order(Verb.ADD_SERVER, WEB, Balancing("rr")))[1][7][:4] == b"\0\0\0\0"


def test_a_server_for_a_mark_has_neither_address_nor_protocol() -> None:
    service = parts(Order(Verb.DELETE_SERVER, ServerName(6, "", "", 0, 7)))[1]
    assert set(service) == {1, 5}
    assert struct.unpack("=I", service[5]) == (7,)


def test_a_target_is_masqueraded_with_its_weight() -> None:
    target = parts(Order(Verb.SET_TARGET, WEB, target=POD, weight=0))[2]
    assert target[2] == struct.pack(">H", 9376)
    assert struct.unpack("=II", target[3] + target[4]) == (0, 0)


def test_a_missing_scheduler_is_named_with_its_module() -> None:
    error = refusal(Order(Verb.ADD_SERVER, WEB, Balancing("mh")), errno.ENOENT)
    assert isinstance(error, IpvsUnavailable)
    assert "modprobe ip_vs_mh" in str(error)


@pytest.mark.skipif(Path("/proc/net/ip_vs").exists(), reason="this kernel has IPVS")
def test_a_kernel_without_ipvs_holds_no_servers_and_says_what_to_do() -> None:
    with contextlib.closing(KernelIpvs()) as ipvs:
        assert ipvs.servers() == {}
        with pytest.raises(IpvsUnavailable, match="modprobe ip_vs"):
            ipvs.require()


def test_the_fake_refuses_what_the_kernel_would() -> None:
    fake = FakeIpvs()
    fake.change([Order(Verb.ADD_SERVER, WEB, Balancing("rr")), Order(Verb.ADD_TARGET, WEB, target=POD)])
    for order in (
        Order(Verb.ADD_SERVER, WEB, Balancing("rr")),
        Order(Verb.ADD_TARGET, WEB, target=POD),
        Order(Verb.SET_TARGET, WEB, target=POD._replace(port=1)),
        Order(Verb.SET_SERVER, WEB._replace(port=1), Balancing("rr")),
    ):
        with pytest.raises(IpvsError):
            fake.change([order])
    fake.change([Order(Verb.DELETE_TARGET, WEB, target=POD), Order(Verb.DELETE_TARGET, WEB, target=POD)])
    fake.change([Order(Verb.DELETE_SERVER, WEB), Order(Verb.DELETE_SERVER, WEB)])
    assert fake.servers() == {}
