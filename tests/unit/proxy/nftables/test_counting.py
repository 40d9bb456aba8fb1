"""Connections by Service from the counters of elements, which go whenever an element leads elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.kernel.conntrack import FakeConntrack
from fairway.kernel.counters import ElementCount, FakeCounters
from fairway.kernel.fake_nftables import FakeNftables
from fairway.kernel.nftables import NftablesError
from fairway.proxy.changes import Tracker
from fairway.proxy.nftables.applier import Applier, Kernel
from fairway.proxy.nftables.counting import ConnectionCounts
from fairway.proxy.nftables.ruleset import TABLE
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place
from tests.unit.proxy.objects import endpoint, endpoint_slice, service

KEYS = {
    "10.96.0.80 . tcp . 80": b"\x0a\x60\0\x50" + b"\6\0\0\0" + b"\0\x50\0\0",
    "0.0.0.0 . tcp . 30061": b"\0\0\0\0" + b"\6\0\0\0" + b"\x75\x6d\0\0",
    "fd00:96::80 . tcp . 80": b"\xfd\0\0\x96" + bytes(11) + b"\x80" + b"\6\0\0\0" + b"\0\x50\0\0",
}


class Node:
    """Elements count as the kernel's do: those that are made anew begin at nought."""

    def __init__(self) -> None:
        self.nft, self.counters = FakeNftables(), FakeCounters()
        counts = ConnectionCounts(self.counters, self.counters, TABLE)
        kernel = Kernel(self.nft, FakeConntrack(), frozenset, counts=counts)
        self.applier = Applier(kernel, Settings(service_ranges=("10.96.0.0/16",)), "n1")
        self.tracker = Tracker(Place("n1"))
        self._packets: dict[tuple[str, str], tuple[str, int]] = {}
        self.applier.synchronise({})

    def change(self, *pods: Any, name: str = "web", **spec: Any) -> None:
        self.tracker.service_changed(f"default/{name}", None, service(name, **spec))
        self.tracker.slice_changed(f"default/{name}-1", None, endpoint_slice(pods, name))

    def apply(self) -> None:
        self._mirror()
        self.applier.apply(self.tracker.take())
        self._mirror()

    def synchronise(self) -> None:
        self._mirror()
        self.applier.synchronise({})
        self._packets = {}
        self._mirror()

    def connect(self, times: int, key: str = "10.96.0.80 . tcp . 80") -> None:
        family = "ip6" if key[0] == "f" else "ip"
        value, packets = self._packets.get((family, key), ("", 0))
        del value
        self._packets[family, key] = self.nft.elements(family, TABLE, "services")[key], packets + times
        self._mirror()

    def counted(self) -> dict[str, float]:
        return {dict(f.labels)["service"]: f.value for f in self.applier.count_services()()}

    def _mirror(self) -> None:
        self.counters.counted.clear()
        for (family, key), (value, packets) in list(self._packets.items()):
            if self.nft.elements(family, TABLE, "services").get(key) != value:
                del self._packets[family, key]
                continue
            known = self.counters.counted.setdefault((family, TABLE, "services"), {})
            chain = value.removeprefix("goto ") if value.startswith("goto ") else ""
            known[KEYS[key]] = ElementCount(KEYS[key], chain, packets)


@pytest.fixture
def node() -> Node:
    return Node()


def test_connections_by_any_address_of_a_service_are_counted_once(node: Node) -> None:
    spec = {"type": "NodePort", "nodePort": 30061, "clusterIPs": ["10.96.0.80", "fd00:96::80"]}
    node.change("10.244.0.1", **spec)
    node.tracker.slice_changed(
        "default/web-6", None, endpoint_slice(["fd00:244::1"], name="web-6", kind="IPv6")
    )
    node.apply()
    assert node.counted() == {}
    node.connect(3)
    node.connect(2, "0.0.0.0 . tcp . 30061")
    node.connect(1, "fd00:96::80 . tcp . 80")
    assert node.counted() == {"web": 6}
    assert node.counted() == {"web": 6}


def test_nothing_is_lost_when_a_service_gets_more_endpoints_or_all_is_written_anew(node: Node) -> None:
    node.change("10.244.0.1")
    node.apply()
    node.connect(3)
    assert node.counted() == {"web": 3}
    node.connect(2)
    node.change("10.244.0.1", "10.244.0.2")
    node.apply()
    assert node.counted() == {"web": 5}
    node.connect(9)
    node.synchronise()
    assert node.counted() == {"web": 14}
    node.connect(1)
    assert node.counted() == {"web": 15}


def test_what_is_refused_or_dropped_is_no_connection(node: Node) -> None:
    node.change()
    node.apply()
    node.connect(4)
    assert node.counted() == {}
    away = endpoint("10.244.0.1", "n2")
    node.change(away, type="NodePort", nodePort=30061, externalTrafficPolicy="Local")
    node.apply()
    assert node.nft.elements("ip", TABLE, "services")["0.0.0.0 . tcp . 30061"].endswith("local-tcp-0")
    node.connect(4, "0.0.0.0 . tcp . 30061")
    node.connect(1)
    assert node.counted() == {"web": 1}


def test_a_change_that_fails_counts_nothing_twice(node: Node) -> None:
    node.change("10.244.0.1")
    node.apply()
    node.connect(3)
    node.change("10.244.0.1", "10.244.0.2")
    node.nft.fail_next = 1
    with pytest.raises(NftablesError):
        node.applier.apply(node.tracker.take())
    assert node.counted() == {"web": 3}
    node.connect(1)
    node.synchronise()
    assert node.counted() == {"web": 4}


def test_an_element_that_goes_while_it_is_being_counted_is_counted_once(node: Node) -> None:
    node.change("10.244.0.1")
    node.apply()
    node.connect(3)
    count = node.applier.count_services()
    read = node.counters.elements

    def late(family: str, table: str, name: str) -> list[ElementCount]:
        """What was read is used only after the element has gone and its successor has come."""
        found = read(family, table, name)
        if family == "ip":
            node.counters.elements = read  # type: ignore[method-assign]
            node.change("10.244.0.1", "10.244.0.2")
            node.apply()
        return found

    node.counters.elements = late  # type: ignore[method-assign]
    assert [figure.value for figure in count()] == [3]
    node.connect(2)
    assert node.counted() == {"web": 5}


def test_a_service_that_takes_over_an_address_begins_with_nothing_of_its_predecessor(node: Node) -> None:
    """The element stays, as both have equally many endpoints; only whose it is has changed."""
    node.change("10.244.0.1", name="a-first")
    node.change("10.244.0.2", name="second")
    node.apply()
    node.connect(3)
    assert node.counted() == {"a-first": 3}
    node.tracker.service_changed("default/a-first", service("a-first"), None)
    node.apply()
    node.connect(1)
    assert node.counted() == {"second": 1}


def test_counters_that_can_not_be_read_keep_nothing_from_being_programmed(node: Node) -> None:
    node.change("10.244.0.1")
    node.apply()

    def refuse(*arguments: object) -> list[ElementCount]:
        raise OSError("no memory")

    node.counters.some_elements = refuse  # type: ignore[method-assign]
    node.change("10.244.0.1", "10.244.0.2")
    node.apply()
    assert node.nft.elements("ip", TABLE, "services")["10.96.0.80 . tcp . 80"] == "goto cluster-tcp-2"
