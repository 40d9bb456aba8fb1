"""Cluster IPs: who reaches whom by them, seen with which address, and what is refused."""

from __future__ import annotations

from tests.netns.topology import Network, tcp, udp
from tests.netns.web_service import VIP, VIP6, name, seen, spec, web

from .ipvs_nodes import IpvsFleet
from .web_service import raising


def check_connections_go_round_in_turn(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, net.pods[:3])
    client = net.nodes[1].pods[1].namespace
    for vip in (VIP, VIP6):
        names = [name(tcp(client, vip, 80)) for _ in range(9)]
        assert len(set(names[:3])) == 3, names
        assert names[:3] == names[3:6] == names[6:], names


def check_datagrams_of_new_clients_go_round_in_turn(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, net.pods[:3], "UDP")
    client = net.nodes[1].pods[1].namespace
    for vip in (VIP, VIP6):
        assert len({name(udp(client, vip, 80)) for _ in range(3)}) == 3


def check_a_pod_is_seen_with_its_own_address(net: Network, fleet: IpvsFleet) -> None:
    client, target = net.nodes[0].pods[0], net.nodes[1].pods[0]
    web(fleet, [target])
    assert tcp(client.namespace, VIP, 80) == f"web-2a {client.ip}"
    assert tcp(client.namespace, VIP6, 80) == f"web-2a {client.ip6}"


def check_a_pod_reaches_another_of_the_same_node(net: Network, fleet: IpvsFleet) -> None:
    client, target = net.nodes[0].pods[0], net.nodes[0].pods[1]
    web(fleet, [target])
    assert tcp(client.namespace, VIP, 80) == f"web-1b {client.ip}"
    assert tcp(client.namespace, VIP6, 80) == f"web-1b {client.ip6}"


def check_the_node_itself_reaches_a_cluster_ip(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, [net.nodes[1].pods[0]])
    for node in net.nodes:
        for vip in (VIP, VIP6):
            assert name(tcp(node.namespace, vip, 80)) == "web-2a"


def check_a_client_outside_is_masqueraded_so_that_answers_come_back(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, [net.nodes[1].pods[0]])
    assert tcp(net.client, VIP, 80) == f"web-2a {net.nodes[0].ip}"
    assert tcp(net.client, VIP6, 80) == f"web-2a {net.nodes[0].ip6}"


def check_a_pod_reaches_itself_through_its_service(net: Network, fleet: IpvsFleet) -> None:
    pod = net.nodes[0].pods[0]
    web(fleet, [pod])
    for vip in (VIP, VIP6):
        answer = tcp(pod.namespace, vip, 80)
        assert name(answer) == "web-1a"
        assert seen(answer) not in (pod.ip, pod.ip6)


def check_a_virtual_ip_answers_ping(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, [net.nodes[1].pods[0]])
    for where in (net.client, net.nodes[0].namespace, net.nodes[0].pods[0].namespace):
        for vip in (VIP, VIP6):
            where.command("busybox", "ping", "-c", "1", "-W", "5", vip)


def check_a_service_without_endpoints_is_refused_at_once(net: Network, fleet: IpvsFleet) -> None:
    fleet.put("web", spec())
    for where in (net.nodes[0].pods[0].namespace, net.nodes[0].namespace, net.client):
        for vip in (VIP, VIP6):
            for _ in range(5):
                with raising(ConnectionRefusedError):
                    tcp(where, vip, 80)


def check_udp_without_endpoints_is_refused_at_once(net: Network, fleet: IpvsFleet) -> None:
    fleet.put("web", spec(protocol="UDP"))
    for vip in (VIP, VIP6):
        for where in (net.nodes[0].pods[0].namespace, net.client):
            with raising(ConnectionRefusedError):
                udp(where, vip, 80)
        # The kernel doesn't even let the node itself send, or refuses it.
        with raising(OSError):
            udp(net.nodes[0].namespace, vip, 80)


def check_what_no_service_has_is_refused(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, [net.nodes[0].pods[0]])
    for vip, port in ((VIP, 81), (VIP6, 81), ("10.96.77.77", 80), ("fd00:96::7777", 80)):
        for where in (net.nodes[0].pods[0].namespace, net.nodes[0].namespace, net.client):
            with raising(ConnectionRefusedError):
                tcp(where, vip, port)


def check_internal_policy_local_stays_on_the_node_and_drops_without_an_endpoint(
    net: Network, fleet: IpvsFleet
) -> None:
    web(fleet, [net.nodes[1].pods[0]], internalTrafficPolicy="Local")
    assert name(tcp(net.nodes[1].pods[1].namespace, VIP, 80)) == "web-2a"
    for where in (net.nodes[0].pods[0].namespace, net.nodes[0].namespace):
        with raising(TimeoutError):
            tcp(where, VIP, 80)
