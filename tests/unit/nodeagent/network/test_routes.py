from ipaddress import IPv4Interface, IPv4Network

import msgspec

from fairway.api.objects import Node
from fairway.kernel.fake_netlink import FakeNetlink
from fairway.kernel.netlink import Route
from fairway.nodeagent.network import masquerade
from fairway.nodeagent.network.ipam import AddressPool
from fairway.nodeagent.network.node_network import apply_routes
from fairway.nodeagent.network.pod_network import BRIDGE, ensure_bridge, names_for
from fairway.nodeagent.network.routes import cluster_networks, plan_routes, wanted_routes


def node(number: int, address: str = "", pods: str | None = None) -> Node:
    address = address or f"172.30.96.1{number}"
    return msgspec.convert(
        {
            "metadata": {"name": f"node-{number}"},
            "spec": {"podCIDR": f"10.244.{number}.0/24" if pods is None else pods},
            "status": {"addresses": [{"type": "InternalIP", "address": address}]},
        },
        Node,
    )


def test_each_other_nodes_pods_are_reached_by_way_of_that_node() -> None:
    routes = wanted_routes([node(1), node(2), node(3)], "node-1")
    assert [(str(r.destination), r.gateway) for r in routes] == [
        ("10.244.2.0/24", "172.30.96.12"),
        ("10.244.3.0/24", "172.30.96.13"),
    ]


def test_a_node_without_range_or_address_has_no_route_yet() -> None:
    assert wanted_routes([node(2, pods=""), Node()], "node-1") == []


def test_only_differences_are_applied() -> None:
    wanted = wanted_routes([node(2), node(3)], "node-1")
    assert plan_routes(wanted, wanted).put == ()
    moved = wanted_routes([node(2, "172.30.96.99")], "node-1")
    plan = plan_routes(moved, wanted)
    assert [route.gateway for route in plan.put] == ["172.30.96.99"]
    assert [str(route.destination) for route in plan.delete] == ["10.244.3.0/24"]


def test_applying_converges_and_then_changes_nothing() -> None:
    netlink = FakeNetlink()
    apply_routes(netlink, [node(1), node(2), node(3)], "node-1")
    assert len(netlink.routes()) == 2
    changes = netlink.changes
    apply_routes(netlink, [node(1), node(2), node(3)], "node-1")
    assert netlink.changes == changes
    apply_routes(netlink, [node(1)], "node-1")
    assert netlink.routes() == []


def test_routes_to_devices_are_left_alone() -> None:
    netlink = FakeNetlink()
    netlink.add_bridge(BRIDGE)
    own = Route(IPv4Network("10.244.1.0/24"), device=BRIDGE)
    netlink.put_route(own)
    apply_routes(netlink, [], "node-1")
    assert netlink.routes() == [own]


def test_the_nodes_own_way_out_is_left_alone() -> None:
    netlink = FakeNetlink()
    way_out = Route(IPv4Network("0.0.0.0/0"), "172.30.96.1")
    netlink.put_route(way_out)
    apply_routes(netlink, [node(1), node(2)], "node-1")
    assert way_out in netlink.routes()


def test_the_bridge_has_the_first_address_of_the_range_however_often_it_is_made() -> None:
    netlink = FakeNetlink()
    for _ in range(2):
        ensure_bridge(netlink, AddressPool(IPv4Network("10.244.1.0/24")))
    assert netlink.addresses(BRIDGE) == [IPv4Interface("10.244.1.1/24")]
    link = netlink.link(BRIDGE)
    assert link is not None
    assert link.up


def test_names_fit_the_kernel_and_tell_pods_apart() -> None:
    first, second = names_for("uid-1"), names_for("uid-2")
    assert first != second
    assert all(len(device) <= 15 for _, device in (first, second))
    assert first[0].startswith("fairway-pod-")


def test_pods_and_nodes_are_inside_and_everything_else_is_masqueraded() -> None:
    inside = cluster_networks([node(1), node(2)])
    rules = masquerade.ruleset(IPv4Network("10.244.1.0/24"), inside)
    assert "172.30.96.12" in rules
    assert "10.244.2.0/24" in rules
    assert "ip saddr 10.244.1.0/24 ip daddr != @inside masquerade" in rules
    assert rules.startswith("add table ip fairway-node\ndelete table ip fairway-node\n")


def test_ranges_that_meet_are_written_as_one() -> None:
    halves = [IPv4Network("10.244.2.0/25"), IPv4Network("10.244.2.128/25")]
    assert "10.244.2.0/24" in masquerade.ruleset(IPv4Network("10.244.1.0/24"), halves)
