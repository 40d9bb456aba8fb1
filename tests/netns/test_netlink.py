"""Links, addresses and routes on the real kernel, as `ip` sees them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from ipaddress import IPv4Interface, IPv4Network
from typing import Any

import pytest

from fairway.kernel import namespaces
from fairway.kernel.netlink import KernelNetlink, NetlinkError, Route

HERE, THERE = "fwtest-netlink", "fwtest-netlink-peer"
SOMEWHERE = IPv4Network("10.5.0.0/16")


@pytest.fixture
def netlink() -> Iterator[KernelNetlink]:
    for name in (HERE, THERE):
        namespaces.create(name)
    with closing(KernelNetlink(namespaces.path_of(HERE))) as netlink:
        yield netlink
    for name in (HERE, THERE):
        namespaces.delete(name)


def ip(*words: str, namespace: str = HERE) -> list[dict[str, Any]]:
    command = ["ip", "-netns", namespace, "-json", "-details", *words]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout or "[]")
    return [entry for entry in found if entry]


def bridge_with_address(netlink: KernelNetlink) -> None:
    netlink.add_bridge("br0")
    netlink.add_address("br0", IPv4Interface("10.0.0.1/24"))
    netlink.set_up("br0")


def test_a_bridge_is_as_ip_shows_it_and_making_it_again_changes_nothing(netlink: KernelNetlink) -> None:
    bridge_with_address(netlink)
    [shown] = ip("address", "show", "br0")
    bridge_with_address(netlink)
    [again] = ip("address", "show", "br0")
    for stays in ("ifindex", "address", "flags"):
        assert again[stays] == shown[stays]
    assert shown["linkinfo"]["info_kind"] == "bridge"
    assert shown["address"].startswith("02:fa:")
    assert "UP" in shown["flags"]
    for seen in (shown, again):
        addresses = [(a["local"], a["prefixlen"]) for a in seen["addr_info"] if a["family"] == "inet"]
        assert addresses == [("10.0.0.1", 24)]
    link = netlink.link("br0")
    assert link
    assert (link.index, link.kind, link.up) == (shown["ifindex"], "bridge", True)
    assert netlink.addresses("br0") == [IPv4Interface("10.0.0.1/24")]


def test_a_pair_reaches_into_the_other_namespace_as_a_port_of_the_bridge(netlink: KernelNetlink) -> None:
    netlink.add_bridge("br0")
    netlink.add_veth("here", "there", namespaces.path_of(THERE))
    netlink.attach("here", "br0", hairpin=True)
    [port] = ip("link", "show", "here")
    assert port["master"] == "br0"
    assert port["linkinfo"]["info_slave_data"]["hairpin"] is True
    assert [link["ifname"] for link in ip("link", "show", "type", "veth", namespace=THERE)] == ["there"]
    netlink.delete_link("here")
    netlink.delete_link("here")
    assert ip("link", "show", "type", "veth", namespace=THERE) == []


def test_a_route_is_put_moved_and_deleted_and_those_of_others_are_told_apart(netlink: KernelNetlink) -> None:
    bridge_with_address(netlink)
    on_link = Route(IPv4Network("10.6.0.1/32"), device="br0")
    anywhere = Route(IPv4Network("0.0.0.0/0"), "10.0.0.9")
    for gateway in ("10.0.0.7", "10.0.0.8"):
        netlink.put_route(Route(SOMEWHERE, gateway))
    netlink.put_route(on_link)
    netlink.put_route(anywhere)
    assert set(netlink.routes()) == {Route(SOMEWHERE, "10.0.0.8"), on_link, anywhere}
    assert Route(IPv4Network("10.0.0.0/24"), device="br0") in netlink.routes(everyones=True)
    assert {(r["dst"], r.get("gateway")) for r in ip("route", "show", "proto", "96")} == {
        ("10.5.0.0/16", "10.0.0.8"),
        ("10.6.0.1", None),
        ("default", "10.0.0.9"),
    }
    for _ in range(2):
        netlink.delete_route(on_link)
    assert on_link not in netlink.routes()


def test_what_the_kernel_refuses_is_said(netlink: KernelNetlink) -> None:
    with pytest.raises(NetlinkError, match=r"add bridge .*ERANGE"):
        netlink.add_bridge("a-name-that-is-too-long")
    with pytest.raises(NetlinkError, match="no device nothing"):
        netlink.set_up("nothing")
    with pytest.raises(NetlinkError, match="ENETUNREACH"):
        netlink.put_route(Route(SOMEWHERE, "192.0.2.1"))
    assert netlink.link("nothing") is None


def test_a_socket_stays_in_its_namespace(netlink: KernelNetlink) -> None:
    netlink.add_bridge("br-only-there")
    with closing(KernelNetlink()) as here:
        assert here.link("br-only-there") is None
