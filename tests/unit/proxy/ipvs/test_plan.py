"""What a Service becomes in IPVS, on the dummy device and in sets."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.kernel.ipset import Entry
from fairway.kernel.ipvs import Balancing, ServerName
from fairway.proxy.settings import Settings
from tests.unit.proxy.ipvs.node import OWN, SETTINGS, WEB, Node
from tests.unit.proxy.objects import endpoint, endpoint_slice, service

BALANCED = {"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.19"}]}}, "type": "LoadBalancer"}
FRONT = Entry("10.96.0.80", "tcp", 80)
LB = Entry("203.0.113.19", "tcp", 80)


def node_with(pods: list[Any] | None = None, settings: Settings = SETTINGS, **spec: Any) -> Node:
    node = Node(settings)
    pods = [endpoint("10.244.0.1", "n1"), endpoint("10.244.1.1", "n2")] if pods is None else pods
    protocol = spec.get("protocol", "TCP")
    node.tracker.service_changed("default/web", None, service(**spec))
    node.tracker.slice_changed("default/web-1", None, endpoint_slice(pods, protocol=protocol))
    node.apply()
    return node


def test_a_service_is_a_virtual_server_an_address_and_a_set_member() -> None:
    node = node_with()
    assert node.ipvs.names() == {WEB: Balancing("rr")}
    assert node.weights() == {"10.244.0.1": 1, "10.244.1.1": 1}
    assert node.device.addresses() == {"10.96.0.80"}
    assert node.entries("KUBE-CLUSTER-IP") == {FRONT}
    assert node.entries("KUBE-IPVS-IPS") == {Entry("10.96.0.80")}


def test_only_the_endpoints_of_this_node_can_reach_themselves_through_it() -> None:
    assert node_with().entries("KUBE-LOOP-BACK") == {Entry("10.244.0.1", "tcp", 9376, "10.244.0.1")}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"sessionAffinity": "ClientIP"}, Balancing("rr", 10800)),
        ({"settings": Settings(scheduler="wlc")}, Balancing("wlc")),
    ],
)
def test_scheduler_and_affinity(given: dict[str, Any], expected: Balancing) -> None:
    assert node_with(**given).ipvs.names() == {WEB: expected}


def test_the_maglev_scheduler_tells_connections_of_a_client_apart() -> None:
    node = node_with(settings=Settings(scheduler="mh"))
    assert node.ipvs.orders[0].balancing == Balancing("mh", flags=0x10)


def test_a_node_port_is_a_server_on_each_address_of_the_node_but_loopback_and_link_local() -> None:
    node = node_with(type="NodePort", nodePort=30061)
    assert set(node.ipvs.names()) == {WEB, ServerName(4, "tcp", OWN, 30061)}
    assert node.entries("KUBE-NODE-PORT-TCP") == {Entry(port=30061)}
    assert node.entries("KUBE-NODE-PORT-LOCAL-TCP") == set()
    assert node.device.addresses() == {"10.96.0.80"}


def test_node_ports_are_narrowed_to_the_addresses_that_are_configured() -> None:
    settings = Settings(nodeport_addresses=("198.51.100.0/24",))
    assert set(node_with(settings=settings, type="NodePort", nodePort=30061).ipvs.names()) == {WEB}


@pytest.mark.parametrize(("policy", "masqueraded"), [("Cluster", True), ("Local", False)])
def test_external_addresses_are_held_and_told_apart_by_policy(policy: str, masqueraded: bool) -> None:
    node = node_with(externalIPs=["203.0.113.10"], externalTrafficPolicy=policy)
    member = {Entry("203.0.113.10", "tcp", 80)}
    assert node.entries("KUBE-EXTERNAL-IP") == (member if masqueraded else set())
    assert node.entries("KUBE-EXTERNAL-IP-LOCAL") == (set() if masqueraded else member)
    assert node.device.addresses() == {"10.96.0.80", "203.0.113.10"}


def test_the_node_own_address_as_external_ip_is_not_put_on_the_device() -> None:
    node = node_with(externalIPs=[OWN])
    assert ServerName(4, "tcp", OWN, 80) in node.ipvs.names()
    assert node.device.addresses() == {"10.96.0.80"}


def test_external_policy_local_uses_local_endpoints_and_a_mark_leads_insiders_to_all() -> None:
    node = node_with(**BALANCED, externalTrafficPolicy="Local")
    assert node.weights(ServerName(4, "tcp", "203.0.113.19", 80)) == {"10.244.0.1": 1}
    assert node.weights() == {"10.244.0.1": 1, "10.244.1.1": 1}
    assert node.weights(ServerName(4, "", "", 0, 1)) == {"10.244.0.1": 1, "10.244.1.1": 1}
    assert node.entries("KUBE-INTERNAL") == {LB._replace(mark=1)}
    assert node.entries("KUBE-LOAD-BALANCER-LOCAL") == {LB}


def test_insiders_are_tied_to_an_endpoint_by_a_hash_where_persistence_would_not_translate_ports() -> None:
    node = node_with(**BALANCED, externalTrafficPolicy="Local", sessionAffinity="ClientIP")
    assert node.ipvs.names()[ServerName(4, "", "", 0, 1)] == Balancing("mh")
    assert node.ipvs.names()[ServerName(4, "tcp", "203.0.113.19", 80)] == Balancing("rr", 10800)


def test_marks_keep_clear_of_the_one_for_masquerading() -> None:
    settings = Settings(masquerade_bit=3)
    node = node_with(settings=settings, **BALANCED, externalTrafficPolicy="Local")
    assert {entry.mark for entry in node.entries("KUBE-INTERNAL")} == {1 << 4}


def test_source_ranges_guard_the_load_balancer_address_alone() -> None:
    node = node_with(**BALANCED, loadBalancerSourceRanges=["10.0.0.0/8", "192.0.2.0/24"])
    assert node.entries("KUBE-LOAD-BALANCER-FW") == {LB}
    ranges = {LB._replace(other="10.0.0.0/8"), LB._replace(other="192.0.2.0/24")}
    assert node.entries("KUBE-LOAD-BALANCER-SOURCE-CIDR") == ranges
    assert node.entries("KUBE-LOAD-BALANCER-SOURCE-IP") == {LB._replace(other="203.0.113.19")}


def test_the_node_itself_is_kept_out_unless_its_address_is_in_the_ranges() -> None:
    node = node_with(**BALANCED, loadBalancerSourceRanges=["10.0.0.0/8"])
    assert node.entries("KUBE-LOAD-BALANCER-SOURCE-IP") == set()


def test_a_range_of_everything_is_split_as_a_set_cannot_hold_it() -> None:
    node = node_with(**BALANCED, loadBalancerSourceRanges=["0.0.0.0/0"])
    others = {entry.other for entry in node.entries("KUBE-LOAD-BALANCER-SOURCE-CIDR")}
    assert others == {"0.0.0.0/1", "128.0.0.0/1"}


def test_without_endpoints_a_rule_refuses_and_there_is_no_virtual_server() -> None:
    node = node_with([])
    assert node.ipvs.names() == {}
    assert node.entries("KUBE-NO-ENDPOINT") == {FRONT}
    assert node.device.addresses() == {"10.96.0.80"}


def test_policy_local_without_a_local_endpoint_drops() -> None:
    node = node_with([endpoint("10.244.1.1", "n2")], internalTrafficPolicy="Local")
    assert node.ipvs.names() == {}
    assert node.entries("KUBE-NO-LOCAL-ENDPOINT") == {FRONT}
    assert node.entries("KUBE-NO-ENDPOINT") == set()


def test_ipv6_has_sets_of_its_own() -> None:
    node = Node()
    node.tracker.service_changed("default/web", None, service(ip="fd00:96::80"))
    node.tracker.slice_changed("default/web-1", None, endpoint_slice(["fd00:244::1"], kind="IPv6"))
    node.apply()
    assert node.ipvs.names() == {ServerName(6, "tcp", "fd00:96::80", 80): Balancing("rr")}
    assert node.entries("KUBE-6-CLUSTER-IP") == {Entry("fd00:96::80", "tcp", 80)}
    assert node.entries("KUBE-CLUSTER-IP") == set()


def test_nobody_takes_a_cluster_ip_by_listing_it_as_external_ip() -> None:
    node = node_with()
    node.tracker.service_changed("default/a", None, service("a", "10.96.0.7", externalIPs=["10.96.0.80"]))
    node.apply()
    assert node.weights() == {"10.244.0.1": 1, "10.244.1.1": 1}
    assert node.entries("KUBE-EXTERNAL-IP") == set()
    node.tracker.service_changed("default/web", None, None)
    node.apply()
    assert node.entries("KUBE-EXTERNAL-IP") == {FRONT}
    assert node.entries("KUBE-CLUSTER-IP") == {Entry("10.96.0.7", "tcp", 80)}


def test_one_address_is_held_as_long_as_a_service_port_needs_it() -> None:
    node = node_with(ports=[{"name": "a", "port": 80}, {"name": "b", "port": 443}])
    assert node.device.addresses() == {"10.96.0.80"}
    node.tracker.service_changed("default/web", None, service(ports=[{"name": "b", "port": 443}]))
    node.apply()
    assert node.device.addresses() == {"10.96.0.80"}
    node.tracker.service_changed("default/web", None, None)
    node.apply()
    assert node.device.addresses() == frozenset()
    assert all(not members for members in node.ipset.members.values())
