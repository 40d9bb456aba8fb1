"""Bringing plans into a fake kernel: what is sent, what failures do, and how others' changes are noticed."""

from __future__ import annotations

import pytest

from fairway.kernel.conntrack import FakeConntrack, Flow
from fairway.kernel.fake_nftables import FakeNftables
from fairway.kernel.nftables import NftablesError
from fairway.proxy.changes import Tracker
from fairway.proxy.nftables.applier import Applier, Kernel
from fairway.proxy.nftables.ruleset import TABLE
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place
from tests.unit.proxy.objects import endpoint_slice, service


class Node:
    def __init__(self) -> None:
        self.nft, self.conntrack = FakeNftables(), FakeConntrack()
        self.kernel = Kernel(self.nft, self.conntrack, lambda: {"192.0.2.1"})
        self.applier = Applier(self.kernel, Settings(service_ranges=("10.96.0.0/16",)), "n1")
        self.tracker = Tracker(Place("n1"))

    def change(self, pods: list[str], protocol: str = "TCP") -> None:
        view = service(protocol=protocol, type="NodePort", nodePort=30061)
        self.tracker.service_changed("default/web", None, view)
        self.tracker.slice_changed("default/web-1", None, endpoint_slice(pods, protocol=protocol))

    def apply(self) -> None:
        self.applier.apply(self.tracker.take())

    def services(self) -> dict[str, str]:
        return self.nft.elements("ip", TABLE, "services")


@pytest.fixture
def node() -> Node:
    started = Node()
    started.applier.synchronise({})
    return started


def test_a_change_is_one_transaction_and_no_change_is_none(node: Node) -> None:
    before = len(node.nft.transactions)
    node.change(["10.244.0.1"])
    node.apply()
    assert len(node.nft.transactions) == before + 1
    node.change(["10.244.0.1"])
    node.apply()
    assert len(node.nft.transactions) == before + 1


def test_after_a_failure_synchronising_brings_in_what_failed(node: Node) -> None:
    node.change(["10.244.0.1"])
    node.nft.fail_next = 1
    with pytest.raises(NftablesError):
        node.apply()
    assert node.services() == {}
    node.applier.synchronise({})
    assert node.services()["10.96.0.80 . tcp . 80"] == "goto cluster-tcp-1"


def test_a_new_process_takes_over_tables_and_keeps_what_clients_are_tied_to(node: Node) -> None:
    node.change(["10.244.0.1", "10.244.0.2"])
    node.apply()
    node.nft.elements("ip", TABLE, "affinity")["client"] = "f000:1"
    later = Applier(node.kernel, node.applier.settings, "n1")
    node.change(["10.244.0.2"])
    later.synchronise(node.tracker.take())
    assert node.services()["10.96.0.80 . tcp . 80"] == "goto cluster-tcp-1"
    assert "cluster-tcp-2" not in node.nft.tables["ip", TABLE].chains
    assert node.nft.elements("ip", TABLE, "affinity") == {"client": "f000:1"}


def test_tables_of_another_layout_are_replaced(node: Node) -> None:
    node.nft.run(
        f"delete table ip {TABLE}\nadd table ip {TABLE}\nadd map ip {TABLE} services {{ old : old; }}"
    )
    node.change(["10.244.0.1"])
    node.applier.synchronise(node.tracker.take())
    assert node.services()["10.96.0.80 . tcp . 80"] == "goto cluster-tcp-1"


def test_other_settings_take_effect_with_the_next_synchronisation(node: Node) -> None:
    node.change(["10.244.0.1"])
    node.apply()
    node.applier.configure(Settings(masquerade_all=True))
    node.applier.synchronise({})
    assert node.nft.tables["ip", TABLE].chains["cluster-tcp-1"][0] == "jump mark-masquerade"


@pytest.mark.parametrize(
    "damage",
    [
        f"delete table ip {TABLE}",
        f"delete table ip6 {TABLE}",
        f"flush table ip {TABLE}",
        f"flush map ip {TABLE} services",
        f"flush set ip {TABLE} service-ranges",
        f"add rule ip {TABLE} services accept",
        f"delete element ip {TABLE} tcp-endpoints {{ 10.96.0.80 . 80 . 0 }}",
    ],
)
def test_what_others_do_to_our_tables_is_noticed_and_put_back(node: Node, damage: str) -> None:
    node.change(["10.244.0.1"])
    node.apply()
    assert node.applier.is_intact()
    before = node.nft.query("list ruleset")
    node.nft.run(damage)
    assert not node.applier.is_intact()
    node.applier.synchronise({})
    assert node.applier.is_intact()
    assert sorted(map(str, node.nft.query("list ruleset"))) == sorted(map(str, before))


def test_damage_is_still_noticed_after_further_changes_of_our_own(node: Node) -> None:
    node.change(["10.244.0.1"])
    node.apply()
    node.nft.run(f"flush set ip {TABLE} service-ranges")
    node.change(["10.244.0.2"])
    node.apply()
    assert not node.applier.is_intact()


def test_what_others_do_to_their_own_tables_is_no_damage(node: Node) -> None:
    node.change(["10.244.0.1"])
    node.apply()
    node.nft.run("add table ip somebody")
    assert node.applier.is_intact()


def flow(address: str, port: int, answering: str, client_port: int = 4000) -> Flow:
    return Flow("10.244.0.9", client_port, address, port, answering, 9376)


def test_flows_to_an_endpoint_that_has_gone_are_deleted_and_others_kept(node: Node) -> None:
    node.change(["10.244.0.1", "10.244.0.2"], "UDP")
    node.apply()
    kept = [
        flow("10.96.0.80", 80, "10.244.0.2"),
        flow("198.51.100.7", 53, "198.51.100.7"),
        flow("198.51.100.7", 30061, "198.51.100.7"),
    ]
    stale = [flow("10.96.0.80", 80, "10.244.0.1"), flow("192.0.2.1", 30061, "10.244.0.1")]
    node.conntrack.flows[4] = [*kept, *stale]
    node.change(["10.244.0.2"], "UDP")
    node.apply()
    assert node.conntrack.flows[4] == kept


def test_flows_to_a_service_that_has_gone_are_deleted(node: Node) -> None:
    node.change(["10.244.0.1"], "UDP")
    node.apply()
    node.conntrack.flows[4] = [flow("10.96.0.80", 80, "10.244.0.1"), flow("192.0.2.1", 30061, "10.244.0.1")]
    node.tracker.service_changed("default/web", None, None)
    node.apply()
    assert node.conntrack.flows[4] == []


def test_flows_that_went_stale_unwatched_are_deleted_by_a_synchronisation(node: Node) -> None:
    node.conntrack.flows[4] = [flow("10.96.0.80", 80, "10.244.0.1"), flow("10.96.0.99", 80, "10.244.0.1")]
    node.change(["10.244.0.2"], "UDP")
    node.applier.synchronise(node.tracker.take())
    assert node.conntrack.flows[4] == []


def test_removing_leaves_nothing(node: Node) -> None:
    node.change(["10.244.0.1"])
    node.apply()
    node.applier.remove()
    assert node.nft.tables == {}
    node.applier.remove()


def test_what_is_too_large_for_the_kernel_goes_in_pieces(node: Node) -> None:
    node.nft.largest = 50_000
    names = [f"s{number}" for number in range(1000)]
    for number, name in enumerate(names):
        view = service(name, f"10.96.{number >> 8}.{number & 255}")
        node.tracker.service_changed(f"default/{name}", None, view)
    node.apply()
    assert len(node.services()) == 1000
    assert node.applier.is_intact()
