"""Node ports, external IPs and addresses of load balancers, with their policies."""

from __future__ import annotations

from tests.netns.topology import Network, tcp, udp
from tests.netns.web_service import VIP, name, spec, web

from .ipvs_nodes import IpvsFleet
from .web_service import balanced, only_the_first, raising


def check_a_node_port_leads_to_a_pod_on_another_node_which_sees_the_first_node(
    net: Network, fleet: IpvsFleet
) -> None:
    first, second = net.nodes
    for ask, protocol in ((tcp, "TCP"), (udp, "UDP")):
        web(fleet, [second.pods[0]], protocol, type="NodePort", nodePort=30061)
        assert ask(net.client, first.ip, 30061) == f"web-2a {first.ip}"
        assert ask(net.client, first.ip6, 30061) == f"web-2a {first.ip6}"
        assert ask(net.client, second.ip, 30061) == "web-2a 10.244.2.1"
        assert ask(net.client, second.ip6, 30061) == "web-2a fd00:244:2::1"
        fleet.reset()


def check_a_node_port_is_served_to_pods_and_to_the_node_itself(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, [net.nodes[1].pods[0]], type="NodePort", nodePort=30061)
    for where in (net.nodes[0].pods[0].namespace, net.nodes[0].namespace):
        assert name(tcp(where, net.nodes[0].ip, 30061)) == "web-2a"


def check_node_ports_are_narrowed_by_nodeport_addresses(net: Network, fleet: IpvsFleet) -> None:
    fleet.settings(nodeport_addresses=("10.244.0.0/16",))
    web(fleet, [net.nodes[1].pods[0]], type="NodePort", nodePort=30061)
    with raising(ConnectionRefusedError):
        tcp(net.client, net.nodes[0].ip, 30061)
    assert name(tcp(net.client, "10.244.1.1", 30061)) == "web-2a"


def check_a_node_port_without_endpoints_is_refused(net: Network, fleet: IpvsFleet) -> None:
    fleet.put("web", spec(type="NodePort", nodePort=30061))
    for _ in range(5):
        with raising(ConnectionRefusedError):
            tcp(net.client, net.nodes[0].ip, 30061)


def check_an_address_the_node_gets_later_serves_node_ports_too(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, [net.nodes[1].pods[0]], type="NodePort", nodePort=30061)
    proxy = fleet.proxies[0]
    assert proxy.applier.is_intact()
    net.nodes[0].namespace.ip("addr add 172.30.96.77/24 dev eth0")
    proxy.clock.ahead += 1000
    try:
        assert proxy.applier.is_intact(), "nobody has broken anything"
        assert name(tcp(net.client, "172.30.96.77", 30061)) == "web-2a"
    finally:
        net.nodes[0].namespace.ip("addr del 172.30.96.77/24 dev eth0")


def check_external_policy_local_keeps_the_client_address_and_drops_where_no_pod_is(
    net: Network, fleet: IpvsFleet
) -> None:
    web(fleet, [net.nodes[1].pods[0]], type="NodePort", nodePort=30061, externalTrafficPolicy="Local")
    assert tcp(net.client, net.nodes[1].ip, 30061) == f"web-2a {net.client_ip}"
    assert tcp(net.client, net.nodes[1].ip6, 30061) == f"web-2a {net.client_ip6}"
    for address in (net.nodes[0].ip, net.nodes[0].ip6):
        with raising(TimeoutError):
            tcp(net.client, address, 30061)


def check_clients_inside_the_cluster_are_not_held_to_external_policy_local(
    net: Network, fleet: IpvsFleet
) -> None:
    first, pod = net.nodes[0], net.nodes[0].pods[0]
    balanced(fleet, [net.nodes[1].pods[0]], nodePort=30061, externalTrafficPolicy="Local")
    for address, port in ((first.ip, 30061), (first.ip6, 30061), ("203.0.113.19", 80)):
        assert name(tcp(first.namespace, address, port)) == "web-2a"
        assert tcp(pod.namespace, address, port) == f"web-2a {pod.ip6 if ':' in address else pod.ip}"


def check_affinity_holds_for_clients_inside_the_cluster_with_external_policy_local(
    net: Network, fleet: IpvsFleet
) -> None:
    web(
        fleet,
        net.nodes[1].pods,
        type="NodePort",
        nodePort=30061,
        externalTrafficPolicy="Local",
        sessionAffinity="ClientIP",
    )
    for pod in net.nodes[0].pods:
        for address in (net.nodes[0].ip, net.nodes[0].ip6):
            assert len({tcp(pod.namespace, address, 30061) for _ in range(6)}) == 1


def check_an_external_ip_that_is_routed_to_a_node_leads_to_the_endpoints(
    net: Network, fleet: IpvsFleet
) -> None:
    net.client.ip(f"route replace 203.0.113.10/32 via {net.nodes[0].ip}")
    web(fleet, [net.nodes[1].pods[0]], externalIPs=["203.0.113.10"])
    assert tcp(net.client, "203.0.113.10", 80) == f"web-2a {net.nodes[0].ip}"


def check_the_node_own_address_can_be_an_external_ip(net: Network, fleet: IpvsFleet) -> None:
    node = net.nodes[0]
    # Only there: every other node would hold the address, too, and answer in the first one's place.
    with only_the_first(fleet):
        web(fleet, [net.nodes[0].pods[0]], externalIPs=[node.ip])
        assert tcp(net.client, node.ip, 80) == "web-1a 10.244.1.1"
        fleet.delete("web")
    assert node.ip in node.namespace.command("ip", "addr", "show", "eth0")


def check_a_load_balancer_ip_is_open_to_its_source_ranges_only(net: Network, fleet: IpvsFleet) -> None:
    net.client.ip(
        f"route replace 203.0.113.19/32 via {net.nodes[0].ip}", "addr replace 172.30.96.51/24 dev eth0"
    )
    ranges = ["172.30.96.50/32", "10.0.0.0/8", "10.1.0.0/16"]
    balanced(fleet, [net.nodes[1].pods[0]], loadBalancerSourceRanges=ranges)
    assert name(tcp(net.client, "203.0.113.19", 80, net.client_ip)) == "web-2a"
    assert name(tcp(net.nodes[0].pods[0].namespace, "203.0.113.19", 80)) == "web-2a"
    for where, source in ((net.client, "172.30.96.51"), (net.nodes[0].namespace, "")):
        with raising(TimeoutError):
            tcp(where, "203.0.113.19", 80, source)
    assert name(tcp(net.client, VIP, 80, "172.30.96.51")) == "web-2a"
    balanced(fleet, [net.nodes[1].pods[0]], loadBalancerSourceRanges=["0.0.0.0/0"])
    assert name(tcp(net.client, "203.0.113.19", 80, "172.30.96.51")) == "web-2a"
