"""The order in which relay and rules are told, on a fake kernel and with a relay in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fairway.kernel.nftables import NftablesError
from fairway.proxy.userspace.messages import Counted
from fairway.proxy.userspace.ruleset import TABLE
from tests.unit.proxy.objects import endpoint_slice, service
from tests.unit.proxy.userspace.node import Node as FakeNode


class Node(FakeNode):
    def change(self, pods: Sequence[str | dict[str, Any]], **spec: Any) -> None:
        protocol = spec.get("protocol", "TCP")
        self.tracker.service_changed("default/web", None, service(**spec))
        self.tracker.slice_changed("default/web-1", None, endpoint_slice(pods, protocol=protocol))

    def leads_to(self) -> dict[str, str]:
        return self.nft.elements("ip", TABLE, "tcp-endpoints")

    def verdicts(self) -> dict[str, str]:
        return self.nft.elements("ip", TABLE, "services")


@pytest.fixture
def node() -> Node:
    started = Node()
    started.applier.synchronise({})
    return started


def test_rules_lead_to_the_port_that_the_relay_opened(node: Node) -> None:
    node.change(["10.244.0.1", "10.244.0.2"])
    node.apply()
    assert node.leads_to() == {"10.96.0.80 . 80 . 0": "169.254.96.1 . 61000"}


def test_a_change_of_endpoints_is_the_relay_s_affair_alone(node: Node) -> None:
    node.change(["10.244.0.1", "10.244.0.2"])
    node.apply()
    before = len(node.nft.transactions)
    node.change(["10.244.0.3"])
    node.apply()
    assert len(node.nft.transactions) == before
    ((listener, _),) = node.relays.served.values()
    assert [backend.address for backend in listener.backends] == ["10.244.0.3"]


def test_without_endpoints_rules_refuse_and_the_port_is_closed(node: Node) -> None:
    node.change(["10.244.0.1"])
    node.apply()
    node.change([])
    node.apply()
    assert node.verdicts() == {"10.96.0.80 . tcp . 80": "goto refuse"}
    assert node.relays.served == {}


def test_a_port_that_could_not_be_opened_leads_nowhere(node: Node) -> None:
    node.relays.fails = True
    node.change(["10.244.0.1"])
    node.apply()
    assert node.leads_to() == {}
    assert node.verdicts() == {"10.96.0.80 . tcp . 80": "drop"}


def test_a_new_process_finds_the_relay_and_its_ports(node: Node) -> None:
    node.change(["10.244.0.1"])
    node.apply()
    before = node.leads_to()
    node.relays.served["default/old/tcp/ip/cluster"] = next(iter(node.relays.served.values()))
    node.tracker.all_changed()
    node.applier = node.new_process()
    node.applier.synchronise(node.tracker.take())
    assert node.leads_to() == before
    assert list(node.relays.served) == ["default/web/tcp/ip/cluster"]


def test_after_a_failure_synchronising_brings_in_what_failed(node: Node) -> None:
    node.change(["10.244.0.1"])
    node.nft.fail_next = 1
    changes = node.tracker.take()
    with pytest.raises(NftablesError):
        node.applier.apply(changes)
    node.applier.synchronise(changes)
    assert node.leads_to() == {"10.96.0.80 . 80 . 0": "169.254.96.1 . 61000"}


def test_a_dead_relay_flushed_rules_and_missing_routes_are_noticed(node: Node) -> None:
    def relay_dies() -> None:
        node.relays.alive = False

    for damage in (relay_dies, node.delivery.remove, lambda: node.nft.run(f"flush table ip {TABLE}")):
        assert node.applier.is_intact()
        damage()
        assert not node.applier.is_intact()
        node.applier.synchronise({})


def test_what_the_relay_has_carried_is_told_by_service(node: Node) -> None:
    def counted() -> list[tuple[str, float]]:
        return [(dict(f.labels)["service"], f.value) for f in node.applier.count_services()()]

    node.change(["10.244.0.1"])
    node.apply()
    web = "default/web/tcp/ip"
    node.relays.carried = [
        Counted(f"{web}/cluster", 3, 1000, 20),
        Counted(f"{web}/local", 1, 500, 10),
        Counted("default/gone/tcp/ip/cluster", 1, 1, 1),
    ]
    assert counted() == [("web", 4), ("web", 1500), ("web", 30)]
    # A relay that can't be asked has carried nothing less.
    node.relays.alive = False
    assert counted() == [("web", 4), ("web", 1500), ("web", 30)]
    node.relays.alive = True
    assert counted() == [("web", 4), ("web", 1500), ("web", 30)]
    node.relays.carried = [Counted(f"{web}/cluster", 1, 1, 1)]
    assert counted() == [("web", 5), ("web", 1501), ("web", 31)], "of another relay"


def test_removal_leaves_nothing(node: Node) -> None:
    node.change(["10.244.0.1"])
    node.apply()
    node.applier.remove()
    assert node.nft.tables == {}
    assert not node.relays.alive
    assert not node.delivery.there
