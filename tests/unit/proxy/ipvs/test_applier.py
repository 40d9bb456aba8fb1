"""Bringing plans into a fake kernel: what is sent, what failures do, and how others' changes are noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fairway.kernel.conntrack import Flow
from fairway.kernel.ipset import Kind
from fairway.kernel.ipvs import Balancing, IpvsError, IpvsUnavailable, Order, ServerName, Target, Verb
from fairway.proxy.ipvs.draining import LONGEST
from tests.unit.proxy.ipvs.kernel_state import state
from tests.unit.proxy.ipvs.node import OWN, SETTINGS, WEB, Node
from tests.unit.proxy.objects import endpoint_slice, service

FIRST, SECOND = Target("10.244.0.1", 9376), Target("10.244.0.2", 9376)


def change(node: Node, pods: list[str], **spec: Any) -> None:
    node.tracker.service_changed("default/web", None, service(**spec))
    view = endpoint_slice(pods, protocol=spec.get("protocol", "TCP"))
    node.tracker.slice_changed("default/web-1", None, view)
    node.apply()


@pytest.fixture
def node() -> Node:
    started = Node()
    change(started, [FIRST.address, SECOND.address], type="NodePort", nodePort=30061)
    return started


def test_a_change_sends_only_what_differs(node: Node) -> None:
    node.ipvs.orders.clear()
    restored, members = len(node.iptables.restored), node.ipset.changes
    change(node, [FIRST.address, SECOND.address, "10.244.0.3"], type="NodePort", nodePort=30061)
    added = Target("10.244.0.3", 9376)
    servers = {WEB, ServerName(4, "tcp", OWN, 30061)}
    assert set(node.ipvs.orders) == {Order(Verb.ADD_TARGET, s, target=added) for s in servers}
    assert node.ipset.changes == members + 1, "its own hairpin"
    node.ipvs.orders.clear()
    change(node, [FIRST.address, SECOND.address, "10.244.0.3"], type="NodePort", nodePort=30061)
    assert node.ipvs.orders == []
    assert len(node.iptables.restored) == restored


def test_rules_do_not_grow_with_services(node: Node) -> None:
    before = node.iptables.save(4)
    for number in range(50):
        node.tracker.service_changed(
            f"default/s{number}", None, service(f"s{number}", f"10.96.1.{number}", nodePort=31000 + number)
        )
    node.apply()
    assert node.iptables.save(4) == before
    node.start()
    assert node.iptables.save(4) == before


def test_a_new_process_changes_nothing_if_nothing_has_changed(node: Node) -> None:
    node.ipvs.orders.clear()
    members = node.ipset.changes
    node.start()
    assert node.ipvs.orders == []
    assert node.ipset.changes == members
    assert node.is_intact()


def test_after_a_failure_synchronising_brings_in_what_failed(node: Node) -> None:
    node.ipvs.fail_next = 1
    with pytest.raises(IpvsError):
        change(node, [FIRST.address, SECOND.address, "10.244.0.3"])
    node.applier.synchronise({})
    assert len(node.weights()) == 3
    assert node.is_intact()


def test_a_kernel_without_ipvs_is_told_so_with_what_to_do(node: Node) -> None:
    node.ipvs.present = False
    with pytest.raises(IpvsUnavailable, match="modprobe ip_vs"):
        node.start()


def test_a_kernel_without_the_scheduler_is_told_so_with_what_to_do() -> None:
    from fairway.kernel.ipvs import refusal

    error = refusal(Order(Verb.ADD_SERVER, WEB, Balancing("mh")), 2)
    assert "modprobe ip_vs_mh" in str(error)


# -- draining ------------------------------------------------------------------------------------------


def test_an_idle_endpoint_goes_at_once(node: Node) -> None:
    change(node, [SECOND.address])
    assert node.weights() == {SECOND.address: 1}


def test_an_endpoint_with_connections_gets_no_new_ones_and_goes_with_its_last(node: Node) -> None:
    node.ipvs.connect(WEB, FIRST, active=1)
    change(node, [SECOND.address])
    assert node.weights() == {FIRST.address: 0, SECOND.address: 1}
    assert node.is_intact()
    node.ipvs.connect(WEB, FIRST, active=0, inactive=1)
    assert node.is_intact()
    assert node.weights() == {FIRST.address: 0, SECOND.address: 1}
    node.ipvs.connect(WEB, FIRST, active=0)
    assert node.is_intact()
    assert node.weights() == {SECOND.address: 1}


def test_an_endpoint_with_connections_goes_after_a_bounded_time(node: Node) -> None:
    node.ipvs.connect(WEB, FIRST, active=1)
    change(node, [SECOND.address])
    node.now += LONGEST + 1
    assert node.is_intact()
    assert node.weights() == {SECOND.address: 1}


def test_an_endpoint_that_comes_back_is_used_again(node: Node) -> None:
    node.ipvs.connect(WEB, FIRST, active=1)
    change(node, [SECOND.address])
    change(node, [FIRST.address, SECOND.address])
    node.now += LONGEST + 1
    assert node.is_intact()
    assert node.weights() == {FIRST.address: 1, SECOND.address: 1}


def test_a_new_process_goes_on_with_what_was_being_drained(node: Node) -> None:
    node.ipvs.connect(WEB, FIRST, active=1)
    change(node, [SECOND.address])
    node.start()
    assert node.weights() == {FIRST.address: 0, SECOND.address: 1}
    node.ipvs.connect(WEB, FIRST, active=0)
    assert node.is_intact()
    assert node.weights() == {SECOND.address: 1}


def test_the_server_stays_until_the_last_connection_of_the_last_endpoint_is_over(node: Node) -> None:
    node.ipvs.connect(WEB, FIRST, active=1)
    change(node, [])
    assert node.weights() == {FIRST.address: 0}
    assert node.is_intact()
    change(node, [], sessionAffinity="ClientIP")
    assert node.is_intact()
    node.ipvs.connect(WEB, FIRST, active=0)
    assert node.is_intact()
    assert WEB not in node.ipvs.names()
    change(node, [FIRST.address])
    assert node.weights() == {FIRST.address: 1}


def test_a_service_that_goes_takes_what_was_being_drained_with_it(node: Node) -> None:
    node.ipvs.connect(WEB, FIRST, active=1)
    change(node, [SECOND.address])
    node.tracker.service_changed("default/web", None, None)
    node.apply()
    assert node.ipvs.names() == {}
    change(node, [FIRST.address])
    assert node.weights() == {FIRST.address: 1}


def test_datagrams_do_not_keep_an_endpoint() -> None:
    node = Node()
    server = WEB._replace(protocol="udp")
    change(node, [FIRST.address, SECOND.address], protocol="UDP")
    node.ipvs.connect(server, FIRST, active=0, inactive=5)
    node.conntrack.flows[4] = [
        Flow("10.244.0.9", 4000, "10.96.0.80", 80, FIRST.address, 9376),
        Flow("10.244.0.9", 4001, "10.96.0.80", 80, SECOND.address, 9376),
    ]
    change(node, [SECOND.address], protocol="UDP")
    assert node.weights(server) == {SECOND.address: 1}
    assert [flow.answering for flow in node.conntrack.flows[4]] == [SECOND.address]


def test_datagrams_of_clients_inside_the_cluster_do_not_keep_an_endpoint_either() -> None:
    """Those that a mark leads to a server of its own, which has no protocol."""
    node = Node()
    kind = {"protocol": "UDP", "type": "NodePort", "nodePort": 30061, "externalTrafficPolicy": "Local"}
    change(node, [FIRST.address, SECOND.address], **kind)
    (marked,) = (name for name in node.ipvs.names() if name.mark)
    node.ipvs.connect(marked, FIRST, active=0, inactive=5)
    change(node, [SECOND.address], **kind)
    assert node.weights(marked) == {SECOND.address: 1}
    node.ipvs.connect(marked, SECOND, active=0, inactive=5)
    change(node, [FIRST.address], **kind)
    node.start()
    assert node.weights(marked) == {FIRST.address: 1}


# -- others --------------------------------------------------------------------------------------------

DAMAGE: dict[str, Callable[[Node], object]] = {
    "server deleted": lambda node: node.ipvs.change([Order(Verb.DELETE_SERVER, WEB)]),
    "target deleted": lambda node: node.ipvs.change([Order(Verb.DELETE_TARGET, WEB, target=FIRST)]),
    "weight changed": lambda node: node.ipvs.change([Order(Verb.SET_TARGET, WEB, target=FIRST, weight=7)]),
    "scheduler changed": lambda node: node.ipvs.change([Order(Verb.SET_SERVER, WEB, Balancing("lc"))]),
    "server added": lambda node: node.ipvs.change(
        [Order(Verb.ADD_SERVER, WEB._replace(port=9), Balancing("rr"))]
    ),
    "address deleted": lambda node: node.device.change(["10.96.0.80"], ()),
    "address added": lambda node: node.device.change((), ["10.96.0.99"]),
    "device deleted": lambda node: node.device.remove(),
    "set emptied": lambda node: node.ipset.members["KUBE-CLUSTER-IP"].clear(),
    "set destroyed": lambda node: node.ipset.destroy("KUBE-6-CLUSTER-IP"),
    "set of another kind": lambda node: node.ipset.kinds.update({"KUBE-CLUSTER-IP": Kind("hash:net", 4)}),
    "hook deleted": lambda node: node.iptables.tables[4, "nat"]["PREROUTING"].clear(),
    "rule deleted": lambda node: node.iptables.tables[6, "filter"]["KUBE-IPVS-FILTER"].pop(),
    "rule added": lambda node: node.iptables.tables[4, "nat"]["KUBE-SERVICES"].append("-j X"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_others_do_is_noticed_and_put_back(node: Node, damage: str) -> None:
    assert node.is_intact()
    before = state(node)
    DAMAGE[damage](node)
    assert not node.is_intact()
    node.applier.synchronise({})
    assert node.is_intact()
    assert state(node) == before


def test_what_others_do_beside_us_is_no_damage(node: Node) -> None:
    node.iptables.tables[4, "nat"]["PREROUTING"].append("-j DOCKER")
    node.ipset.create("theirs", Kind("hash:ip", 4))
    assert node.is_intact()
    node.applier.remove()
    assert node.iptables.tables[4, "nat"]["PREROUTING"] == ["-j DOCKER"]
    assert list(node.ipset.kinds) == ["theirs"]


def test_an_address_that_the_node_gets_later_serves_node_ports(node: Node) -> None:
    node.own |= {"192.0.2.7"}
    assert node.is_intact(), "nobody has broken anything"
    assert ServerName(4, "tcp", "192.0.2.7", 30061) in node.ipvs.names()
    node.own -= {"192.0.2.7"}
    assert node.is_intact()
    assert ServerName(4, "tcp", "192.0.2.7", 30061) not in node.ipvs.names()


def test_link_local_addresses_that_come_and_go_with_pods_cost_nothing(node: Node) -> None:
    """The kernel gives one to each Pod's device on the node."""
    restored = len(node.iptables.restored)
    for own in (node.own | {"fe80::2"}, node.own):
        node.own = own
        assert node.is_intact()
    assert len(node.iptables.restored) == restored


def test_servers_in_excluded_ranges_are_left_alone(node: Node) -> None:
    theirs = ServerName(4, "tcp", "198.51.100.7", 80)
    node.ipvs.change([Order(Verb.ADD_SERVER, theirs, Balancing("wlc"))])
    node.start(replace(SETTINGS, excluded_cidrs=("198.51.100.0/24",)))
    assert theirs in node.ipvs.names()
    assert node.is_intact()
    node.applier.remove()
    assert set(node.ipvs.names()) == {theirs}


def test_removing_leaves_nothing_and_can_be_repeated(node: Node) -> None:
    for _ in range(2):
        node.applier.remove()
        assert node.ipvs.names() == {}
        assert not node.device.exists()
        assert node.ipset.kinds == {}
        chains = [chain for table in node.iptables.tables.values() for chain in table]
        assert not [chain for chain in chains if chain.startswith("KUBE")]


def test_removing_where_this_mode_never_was_touches_nobody_else() -> None:
    node = Node()
    node.applier.remove()
    theirs = ServerName(4, "tcp", "198.51.100.7", 80)
    node.ipvs.change([Order(Verb.ADD_SERVER, theirs, Balancing("wlc"))])
    node.iptables.restore(4, "*nat\n:KUBE-SERVICES - [0:0]\nCOMMIT\n")
    node.applier.remove()
    assert set(node.ipvs.names()) == {theirs}
    assert "KUBE-SERVICES" in node.iptables.tables[4, "nat"]


def test_strict_arp_is_put_back() -> None:
    node = Node(replace(SETTINGS, strict_arp=True))
    assert node.sysctls.values["net/ipv4/conf/all/arp_ignore"] == "1"
    assert node.sysctls.values["net/ipv4/conf/all/arp_announce"] == "2"
    assert node.sysctls.values["net/ipv4/vs/conntrack"] == "1"
    node.applier.synchronise({})
    node.applier.remove()
    assert node.sysctls.values["net/ipv4/conf/all/arp_ignore"] == "0"
    assert node.sysctls.values["net/ipv4/conf/all/arp_announce"] == "0"


def test_what_is_programmed_for_a_service_can_be_read(node: Node) -> None:
    text = node.applier.describe("default/web")
    assert "virtual servers of IPVS; kube-ipvs0 holds its addresses" in text
    assert "cluster IP 10.96.0.80:80, connections now: 0" in text
    assert "    TCP  10.96.0.80:80 rr\n      -> 10.244.0.1:9376  Masq\n      -> 10.244.0.2:9376  Masq" in text
    assert f"    TCP  {OWN}:30061 rr" in text
    change(node, [])
    assert "no endpoint is ready" in node.applier.describe("default/web")
    assert node.applier.describe("default/other") == ""
