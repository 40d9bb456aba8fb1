"""Names and addresses of clusters on one machine."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

from fairway.cluster.layout import MOST_CLUSTERS, MOST_NODES, Layout


def test_the_first_cluster_has_the_ranges_everyone_expects() -> None:
    layout = Layout(0, 2)
    assert layout.service_network == IPv4Network("10.96.0.0/16")
    assert layout.dns_address == IPv4Address("10.96.0.10")
    assert [node.pod_network for node in layout.nodes] == [
        IPv4Network("10.244.1.0/24"),
        IPv4Network("10.244.2.0/24"),
    ]


def test_no_two_clusters_share_a_range_or_a_name() -> None:
    layouts = [Layout(index, 1) for index in range(MOST_CLUSTERS)]
    for one, other in combinations(layouts, 2):
        for ours in (one.node_network, one.service_network, one.pod_network):
            for theirs in (other.node_network, other.service_network, other.pod_network):
                assert not ours.overlaps(theirs)
        assert one.bridge != other.bridge


def test_every_node_of_the_largest_cluster_has_an_address_and_a_device_name_that_fits() -> None:
    layout = Layout(MOST_CLUSTERS - 1, MOST_NODES)
    assert len({node.address for node in layout.nodes}) == MOST_NODES
    for node in layout.nodes:
        assert node.address in layout.node_network
        assert node.pod_network.subnet_of(layout.pod_network)
        assert len(node.device) <= 15
