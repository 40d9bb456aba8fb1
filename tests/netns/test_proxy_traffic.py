"""Real packets through the nftables mode: who is reached, from where, and whose address the Pod sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from .proxy_nodes import Fleet
from .topology import TARGET, Network, connect, refused_at_once, tcp, udp
from .web_service import VIP, VIP6, name, seen, spec, web


@pytest.fixture(scope="module")
def _proxies(net: Network) -> Iterator[Fleet]:
    fleet = Fleet(net)
    yield fleet
    fleet.close()


@pytest.fixture
def fleet(_proxies: Fleet) -> Iterator[Fleet]:
    yield _proxies
    _proxies.reset()


@pytest.mark.parametrize("vip", [VIP, VIP6])
@pytest.mark.parametrize("ask", [tcp, udp])
def test_every_endpoint_is_reached_by_the_cluster_ip(net: Network, fleet: Fleet, vip: str, ask: Any) -> None:
    web(fleet, net.pods, "TCP" if ask is tcp else "UDP")
    client = net.nodes[0].pods[0]
    names = Counter(name(ask(client.namespace, vip, 80)) for _ in range(60))
    assert set(names) == {"web-1a", "web-1b", "web-2a", "web-2b"}


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_a_pod_is_seen_with_its_own_address(net: Network, fleet: Fleet, vip: str) -> None:
    client, target = net.nodes[0].pods[0], net.nodes[1].pods[0]
    web(fleet, [target])
    expected = client.ip if vip == VIP else client.ip6
    assert tcp(client.namespace, vip, 80) == f"web-2a {expected}"


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_the_node_itself_reaches_a_cluster_ip(net: Network, fleet: Fleet, vip: str) -> None:
    web(fleet, [net.nodes[1].pods[0]])
    assert name(tcp(net.nodes[0].namespace, vip, 80)) == "web-2a"
    assert name(tcp(net.nodes[1].namespace, vip, 80)) == "web-2a"


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_a_client_outside_the_cluster_is_masqueraded_so_that_answers_come_back(
    net: Network, fleet: Fleet, vip: str
) -> None:
    web(fleet, [net.nodes[1].pods[0]])
    node = net.nodes[0]
    assert tcp(net.client, vip, 80) == f"web-2a {node.ip if vip == VIP else node.ip6}"


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_a_pod_reaches_itself_through_its_service(net: Network, fleet: Fleet, vip: str) -> None:
    pod = net.nodes[0].pods[0]
    web(fleet, [pod])
    answer = tcp(pod.namespace, vip, 80)
    assert name(answer) == "web-1a"
    assert seen(answer) not in (pod.ip, pod.ip6)


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_a_service_without_endpoints_is_refused_at_once(net: Network, fleet: Fleet, vip: str) -> None:
    fleet.put("web", spec())
    for where in (net.nodes[0].pods[0].namespace, net.nodes[0].namespace, net.client):
        assert refused_at_once(where, vip, 80)


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_udp_to_a_service_without_endpoints_is_refused_at_once(net: Network, fleet: Fleet, vip: str) -> None:
    fleet.put("web", spec(protocol="UDP"))
    for where in (net.nodes[0].pods[0].namespace, net.client):
        with pytest.raises(ConnectionRefusedError):
            udp(where, vip, 80)
    # The kernel doesn't even let the node itself send.
    with pytest.raises(PermissionError):
        udp(net.nodes[0].namespace, vip, 80)


@pytest.mark.parametrize("vip", ["10.96.77.77", "fd00:96::7777", VIP, VIP6])
def test_what_no_service_has_in_the_service_range_is_refused(net: Network, fleet: Fleet, vip: str) -> None:
    web(fleet, [net.nodes[0].pods[0]])
    for where in (net.nodes[0].pods[0].namespace, net.nodes[0].namespace, net.client):
        with pytest.raises(ConnectionRefusedError):
            tcp(where, vip, 81)


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_a_wrong_port_of_a_cluster_ip_is_refused_even_if_the_service_range_is_unknown(
    net: Network, fleet: Fleet, vip: str
) -> None:
    fleet.settings(service_ranges=())
    web(fleet, [net.nodes[0].pods[0]])
    with pytest.raises(ConnectionRefusedError):
        tcp(net.client, vip, 81)


@pytest.mark.parametrize("six", [False, True])
@pytest.mark.parametrize("ask", [tcp, udp])
def test_a_node_port_leads_to_a_pod_on_another_node_which_sees_the_first_node(
    net: Network, fleet: Fleet, ask: Any, six: bool
) -> None:
    web(fleet, [net.nodes[1].pods[0]], "TCP" if ask is tcp else "UDP", type="NodePort", nodePort=30061)
    first, second = net.nodes
    assert ask(net.client, first.ip6 if six else first.ip, 30061) == (
        f"web-2a {first.ip6 if six else first.ip}"
    )
    gateway = "fd00:244:2::1" if six else "10.244.2.1"
    assert ask(net.client, second.ip6 if six else second.ip, 30061) == f"web-2a {gateway}"


def test_a_node_port_is_served_to_pods_and_to_the_node_itself(net: Network, fleet: Fleet) -> None:
    web(fleet, [net.nodes[1].pods[0]], type="NodePort", nodePort=30061)
    for where in (net.nodes[0].pods[0].namespace, net.nodes[0].namespace):
        assert name(tcp(where, net.nodes[0].ip, 30061)) == "web-2a"


def test_node_ports_are_narrowed_by_nodeport_addresses(net: Network, fleet: Fleet) -> None:
    fleet.settings(nodeport_addresses=("10.244.0.0/16",))
    web(fleet, [net.nodes[1].pods[0]], type="NodePort", nodePort=30061)
    with pytest.raises(ConnectionRefusedError):
        tcp(net.client, net.nodes[0].ip, 30061)
    assert name(tcp(net.client, "10.244.1.1", 30061)) == "web-2a"


def test_a_node_port_without_endpoints_is_refused(net: Network, fleet: Fleet) -> None:
    fleet.put("web", spec(type="NodePort", nodePort=30061))
    with pytest.raises(ConnectionRefusedError):
        tcp(net.client, net.nodes[0].ip, 30061)


def test_external_policy_local_keeps_the_client_address_and_drops_where_no_pod_is(
    net: Network, fleet: Fleet
) -> None:
    local = {"type": "NodePort", "nodePort": 30061, "externalTrafficPolicy": "Local"}
    web(fleet, [net.nodes[1].pods[0]], **local)
    assert tcp(net.client, net.nodes[1].ip, 30061) == f"web-2a {net.client_ip}"
    with pytest.raises(TimeoutError):
        tcp(net.client, net.nodes[0].ip, 30061)
    # From inside the cluster any endpoint serves.
    assert name(tcp(net.nodes[0].pods[0].namespace, net.nodes[0].ip, 30061)) == "web-2a"
    assert name(tcp(net.nodes[0].namespace, net.nodes[0].ip, 30061)) == "web-2a"


def test_internal_policy_local_stays_on_the_node_and_drops_without_a_local_endpoint(
    net: Network, fleet: Fleet
) -> None:
    web(fleet, [net.nodes[1].pods[0]], internalTrafficPolicy="Local")
    assert name(tcp(net.nodes[1].pods[1].namespace, VIP, 80)) == "web-2a"
    with pytest.raises(TimeoutError):
        tcp(net.nodes[0].pods[0].namespace, VIP, 80)


def test_an_external_ip_that_is_routed_to_a_node_leads_to_the_endpoints(net: Network, fleet: Fleet) -> None:
    net.client.ip(f"route replace 203.0.113.10/32 via {net.nodes[0].ip}")
    web(fleet, [net.nodes[1].pods[0]], externalIPs=["203.0.113.10"])
    assert tcp(net.client, "203.0.113.10", 80) == f"web-2a {net.nodes[0].ip}"


def test_a_load_balancer_ip_is_open_to_its_source_ranges_only(net: Network, fleet: Fleet) -> None:
    net.client.ip(
        f"route replace 203.0.113.19/32 via {net.nodes[0].ip}",
        "addr replace 172.30.96.51/24 dev eth0",
    )
    status = {"loadBalancer": {"ingress": [{"ip": "203.0.113.19"}]}}
    ranges = ["172.30.96.50/32", "10.0.0.0/8", "10.1.0.0/16"]
    fleet.put("web", spec(type="LoadBalancer", loadBalancerSourceRanges=ranges), status)
    fleet.endpoints("web", [net.nodes[1].pods[0]], TARGET)
    assert name(tcp(net.client, "203.0.113.19", 80, net.client_ip)) == "web-2a"
    with pytest.raises(TimeoutError):
        tcp(net.client, "203.0.113.19", 80, "172.30.96.51")
    assert name(tcp(net.client, VIP, 80, "172.30.96.51")) == "web-2a"


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_three_connections_in_a_row_reach_three_endpoints_by_round_robin(
    net: Network, fleet: Fleet, vip: str
) -> None:
    fleet.settings(round_robin=True)
    web(fleet, net.pods[:3])
    client = net.nodes[1].pods[1].namespace
    for _ in range(3):
        assert len({name(tcp(client, vip, 80)) for _ in range(3)}) == 3


def test_services_take_turns_on_their_own_by_round_robin(net: Network, fleet: Fleet) -> None:
    fleet.settings(round_robin=True)
    web(fleet, net.pods[:2])
    fleet.put("other", spec() | {"clusterIP": "10.96.0.81", "clusterIPs": ["10.96.0.81"]})
    fleet.endpoints("other", net.pods[:2], TARGET)
    client = net.nodes[1].pods[1].namespace
    first, second = [], []
    for _ in range(4):
        first.append(name(tcp(client, VIP, 80)))
        second.append(name(tcp(client, "10.96.0.81", 80)))
    assert first[0] != first[1]
    assert first[:2] == first[2:]
    assert second[0] != second[1]


def test_an_established_connection_survives_a_restart_of_the_proxy(net: Network, fleet: Fleet) -> None:
    web(fleet, net.pods)
    with connect(net.client, VIP, 80) as connection:
        assert connection.recv(100)
        for proxy in fleet.proxies:
            proxy.restart()
        connection.sendall(b"still there")
        assert connection.recv(100) == b"still there"


def test_no_connection_fails_while_the_proxy_restarts_again_and_again(net: Network, fleet: Fleet) -> None:
    web(fleet, net.pods)
    for _ in range(30):
        fleet.proxies[0].restart()
        assert tcp(net.client, VIP, 80)


def test_removing_leaves_no_trace(net: Network, fleet: Fleet) -> None:
    web(fleet, net.pods, type="NodePort", nodePort=30061)
    fleet.proxies[0].applier.remove()
    left = net.nodes[0].namespace.command("nft", "list", "ruleset")
    fleet.proxies[0].restart()
    assert left == ""
