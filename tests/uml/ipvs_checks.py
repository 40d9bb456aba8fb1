"""Real packets through the ipvs mode, inside user-mode Linux: every function `check_…` is one promise.

Run by `test_ipvs.py`: builds one network, calls each check with it, and prints a line of JSON for each.
Arguments: the names of checks, or none for all.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from fairway.kernel import sysctl
from fairway.proxy import modes
from fairway.proxy.settings import Settings
from fairway.testing.tracing import Packet, Verdict
from tests.netns.proxy_nodes import SETTINGS
from tests.netns.topology import Network, Node, Pod, connect, network, tcp, udp

from .ipvs_nodes import IpvsFleet
from .traced_packets import counted, hits, tracer

VIP, VIP6 = "10.96.0.80", "fd00:96::80"
TARGET = 9376
Ask = Callable[..., str]


def pods(net: Network) -> list[Pod]:
    return [pod for node in net.nodes for pod in node.pods]


def spec(port: int = 80, protocol: str = "TCP", **more: Any) -> dict[str, Any]:
    node_port = {"nodePort": more.pop("nodePort")} if "nodePort" in more else {}
    entry = {"port": port, "protocol": protocol, "targetPort": TARGET} | node_port
    return {"clusterIP": VIP, "clusterIPs": [VIP, VIP6], "ports": [entry]} | more


def web(fleet: IpvsFleet, chosen: list[Pod], protocol: str = "TCP", **more: Any) -> None:
    fleet.put("web", spec(protocol=protocol, **more))
    fleet.endpoints("web", chosen, TARGET, protocol)


def balanced(fleet: IpvsFleet, chosen: list[Pod], **more: Any) -> None:
    """With the load balancer's address 203.0.113.19."""
    status = {"loadBalancer": {"ingress": [{"ip": "203.0.113.19"}]}}
    fleet.put("web", spec(type="LoadBalancer", **more), status)
    fleet.endpoints("web", chosen, TARGET)


def name(answer: str) -> str:
    return answer.split()[0]


def seen(answer: str) -> str:
    return answer.split()[1]


@contextlib.contextmanager
def raising(kind: type[BaseException]) -> Iterator[None]:
    try:
        yield
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


@contextlib.contextmanager
def only_the_first(fleet: IpvsFleet) -> Iterator[None]:
    """What is said inside is heard by the first node's proxy alone."""
    everyone, fleet.proxies = fleet.proxies, fleet.proxies[:1]
    try:
        yield
    finally:
        fleet.proxies = everyone


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.1)


# -- cluster IPs ---------------------------------------------------------------------------------------


def check_connections_go_round_in_turn(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, pods(net)[:3])
    client = net.nodes[1].pods[1].namespace
    for vip in (VIP, VIP6):
        names = [name(tcp(client, vip, 80)) for _ in range(9)]
        assert len(set(names[:3])) == 3, names
        assert names[:3] == names[3:6] == names[6:], names


def check_datagrams_of_new_clients_go_round_in_turn(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, pods(net)[:3], "UDP")
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


# -- node ports and addresses from outside -------------------------------------------------------------


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
        assert not proxy.applier.is_intact()
        proxy.applier.synchronise({})
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


# -- affinity ------------------------------------------------------------------------------------------


def sticky(fleet: IpvsFleet, chosen: list[Pod], seconds: int, protocol: str = "TCP") -> None:
    config = {"clientIP": {"timeoutSeconds": seconds}}
    web(fleet, chosen, protocol, sessionAffinity="ClientIP", sessionAffinityConfig=config)


def check_a_client_comes_back_to_the_same_endpoint(net: Network, fleet: IpvsFleet) -> None:
    for ask, protocol in ((tcp, "TCP"), (udp, "UDP")):
        sticky(fleet, pods(net), 60, protocol)
        for vip in (VIP, VIP6):
            assert len({ask(net.client, vip, 80) for _ in range(8)}) == 1
        fleet.reset()


def check_other_clients_are_spread_and_all_stay_over_a_restart(net: Network, fleet: IpvsFleet) -> None:
    clients = [f"172.30.96.{100 + number}" for number in range(4)]
    net.client.ip(*(f"addr replace {client}/24 dev eth0" for client in clients))
    sticky(fleet, pods(net), 60)
    first = [name(tcp(net.client, VIP, 80, client)) for client in clients]
    assert len(set(first)) == 4
    fleet.proxies[0].restart()
    assert [name(tcp(net.client, VIP, 80, client)) for client in clients] == first


def check_a_client_moves_on_at_once_when_its_endpoint_goes(net: Network, fleet: IpvsFleet) -> None:
    sticky(fleet, pods(net), 60)
    gone = name(tcp(net.client, VIP, 80))
    fleet.endpoints("web", [pod for pod in pods(net) if pod.name != gone], TARGET)
    moved = name(tcp(net.client, VIP, 80))
    assert moved != gone
    assert {name(tcp(net.client, VIP, 80)) for _ in range(5)} == {moved}


def check_a_client_is_free_again_after_the_timeout(net: Network, fleet: IpvsFleet) -> None:
    """A tie lasts at least as long as IPVS remembers a connection: 10 seconds for one that was reset.

    IPVS also remembers ties of Services that are gone, so this client is one that no other check has tied.
    """
    client = "172.30.96.110"
    net.client.ip(f"addr replace {client}/24 dev eth0")
    sticky(fleet, pods(net), 15)
    first = reset(net, client)
    assert reset(net, client) == first
    for pause in (18, 40, 100):
        time.sleep(pause)
        if reset(net, client) != first:
            return
    raise AssertionError("it never came free")


def reset(net: Network, client: str) -> str:
    """A connection that ends with a reset."""
    with connect(net.client, VIP, 80, client) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return connection.recv(100).decode()


# -- changes -------------------------------------------------------------------------------------------


def weights(net: Network) -> dict[str, int]:
    """Of the first node's real servers, as ipvsadm shows them."""
    listed = net.nodes[0].namespace.command("ipvsadm", "-ln")
    return {found[1]: int(found[2]) for found in re.finditer(r"-> (10\S+?):\d+ +Masq +(\d+)", listed)}


def check_an_open_connection_to_an_endpoint_that_goes_lives_on_and_new_ones_avoid_it(
    net: Network, fleet: IpvsFleet
) -> None:
    first, second = net.nodes[1].pods
    web(fleet, [first])
    with connect(net.client, VIP, 80) as connection:
        assert connection.recv(100)
        fleet.endpoints("web", [second], TARGET)
        assert {name(tcp(net.client, VIP, 80)) for _ in range(4)} == {second.name}
        connection.sendall(b"still there")
        assert connection.recv(100) == b"still there"
        assert weights(net) == {first.ip: 0, second.ip: 1}
        assert fleet.proxies[0].applier.is_intact()
        # It comes back before its last connection is over.
        fleet.endpoints("web", [first, second], TARGET)
        assert weights(net) == {first.ip: 1, second.ip: 1}
        fleet.endpoints("web", [second], TARGET)
        # A new process takes over what the old one has begun.
        fleet.proxies[0].restart()
        connection.sendall(b"and now")
        assert connection.recv(100) == b"and now"
        assert weights(net) == {first.ip: 0, second.ip: 1}
        fleet.proxies[0].clock.ahead += 1000
        assert fleet.proxies[0].applier.is_intact()
        assert weights(net) == {second.ip: 1}


def check_an_idle_endpoint_goes_at_once_and_the_last_connection_of_another_lets_it_go(
    net: Network, fleet: IpvsFleet
) -> None:
    first, second = net.nodes[1].pods
    web(fleet, [first, second])
    fleet.endpoints("web", [second], TARGET)
    assert weights(net) == {second.ip: 1}
    net.nodes[0].namespace.command("ipvsadm", "--set", "900", "2", "300")
    connect(net.client, VIP, 80).close()
    fleet.endpoints("web", [first], TARGET)
    assert weights(net) == {first.ip: 1, second.ip: 0}
    proxy = fleet.proxies[0]

    def let_go() -> bool:
        proxy.clock.ahead += 20
        return proxy.applier.is_intact() and weights(net) == {first.ip: 1}

    eventually(let_go)


def check_a_connection_survives_when_the_last_endpoint_goes_and_new_ones_are_refused(
    net: Network, fleet: IpvsFleet
) -> None:
    web(fleet, [net.nodes[1].pods[0]])
    with connect(net.client, VIP, 80) as connection:
        assert connection.recv(100)
        fleet.endpoints("web", [], TARGET)
        with raising(ConnectionRefusedError):
            tcp(net.client, VIP, 80)
        connection.sendall(b"still there")
        assert connection.recv(100) == b"still there"


def check_a_datagram_flow_leaves_an_endpoint_that_has_gone(net: Network, fleet: IpvsFleet) -> None:
    first, second = net.nodes[1].pods
    inside = net.nodes[0].pods[0].namespace
    for where, address, port, policy in (
        (net.client, VIP, 80, "Cluster"),
        (inside, VIP, 80, "Cluster"),
        (inside, net.nodes[0].ip, 30061, "Local"),
    ):
        web(fleet, [first], "UDP", type="NodePort", nodePort=30061, externalTrafficPolicy=policy)
        with where.socket(socket.AF_INET, socket.SOCK_DGRAM) as flow:
            flow.connect((address, port))
            flow.send(b"?")
            assert name(flow.recv(100).decode()) == first.name
            fleet.endpoints("web", [second], TARGET, "UDP")
            flow.settimeout(1)
            answer = b""
            for _ in range(5):
                flow.send(b"?")
                with contextlib.suppress(TimeoutError):
                    answer = flow.recv(100)
                    break
            assert name(answer.decode()) == second.name
        fleet.reset()


def check_connections_survive_restarts_and_none_fails_meanwhile(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, pods(net))
    with connect(net.client, VIP, 80) as connection:
        assert connection.recv(100)
        for _ in range(4):
            for proxy in fleet.proxies:
                proxy.restart()
            assert tcp(net.client, VIP, 80)
        connection.sendall(b"still there")
        assert connection.recv(100) == b"still there"


def check_what_others_break_is_noticed_and_put_back(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, [net.nodes[1].pods[0]], type="NodePort", nodePort=30061)
    proxy, node = fleet.proxies[0], net.nodes[0].namespace
    for damage in (
        "ipvsadm -C",
        f"ipvsadm -d -t {VIP}:80 -r {net.nodes[1].pods[0].ip}:{TARGET}",
        f"ipvsadm -E -t {VIP}:80 -s wrr",
        f"ip addr del {VIP}/32 dev kube-ipvs0",
        "ip link del kube-ipvs0",
        "ipset flush KUBE-CLUSTER-IP",
        "ipset del KUBE-NODE-PORT-TCP 30061",
        "iptables -t nat -F KUBE-SERVICES",
        "iptables -t nat -F PREROUTING",
        "ip6tables -t filter -F",
    ):
        proxy.clock.ahead += 1000
        assert proxy.applier.is_intact(), f"before {damage}"
        node.command(*damage.split())
        proxy.clock.ahead += 1000
        assert not proxy.applier.is_intact(), damage
        proxy.applier.synchronise({})
        assert name(tcp(net.client, VIP, 80)) == "web-2a", damage
        assert name(tcp(net.client, net.nodes[0].ip, 30061)) == "web-2a", damage


# -- counting ------------------------------------------------------------------------------------------


def served(fleet: IpvsFleet) -> dict[str, float]:
    """On the first node: connections, and bytes by direction."""
    figures = fleet.proxies[0].applier.count_services()()
    return {dict(f.labels).get("direction", "connections"): f.value for f in figures}


def more(fleet: IpvsFleet, before: dict[str, float]) -> dict[str, float]:
    return {what: value - before.get(what, 0) for what, value in served(fleet).items()}


def check_connections_and_bytes_are_counted_as_ipvsadm_shows_them(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, pods(net)[:2], type="NodePort", nodePort=30061, externalTrafficPolicy="Local")
    first, inside = net.nodes[0], net.nodes[0].pods[1].namespace
    before = served(fleet)
    for where, address, port in (
        (inside, VIP, 80),
        (inside, VIP6, 80),
        (first.namespace, VIP, 80),
        (net.client, first.ip, 30061),
        # By a mark, as policy Local is not for clients inside.
        (inside, first.ip, 30061),
    ):
        tcp(where, address, port)
    # The kernel brings its figures up to date every two seconds.
    eventually(
        lambda: ipvsadm_stats(first)["connections"] == 5 and more(fleet, before) == ipvsadm_stats(first)
    )
    assert more(fleet, before)["out"] > 5 * len("web-1a 10.244.1.1")


def ipvsadm_stats(node: Node) -> dict[str, float]:
    """The sum over all virtual servers; columns are connections, packets in and out, bytes in and out."""
    shown = node.namespace.command("ipvsadm", "-ln", "--stats", "--exact").splitlines()
    rows = [line.split()[-5:] for line in shown if re.match(r"(TCP|FWM) ", line)]
    columns = {"connections": 0, "in": 3, "out": 4}
    return {what: sum(int(row[column]) for row in rows) for what, column in columns.items()}


def check_counters_go_on_when_a_service_is_programmed_anew(net: Network, fleet: IpvsFleet) -> None:
    client = net.nodes[0].pods[1].namespace
    web(fleet, pods(net)[:1])
    start = served(fleet).get("connections", 0)
    tcp(client, VIP, 80)
    eventually(lambda: served(fleet).get("connections", 0) == start + 1)
    before = served(fleet)
    for chosen in (pods(net)[:2], [], pods(net)[:1]):
        web(fleet, chosen)
        # Bytes of the connection's last packets may have been added since.
        assert served(fleet)["connections"] == start + 1
        assert all(value >= before[what] for what, value in served(fleet).items())
    tcp(client, VIP, 80)
    eventually(lambda: served(fleet)["connections"] == start + 2)
    assert served(fleet)["in"] > before["in"]


# -- as the documentation of Kubernetes shows it -------------------------------------------------------


def check_ipvsadm_and_ip_show_what_the_documentation_shows(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, pods(net)[:3])
    node = net.nodes[0].namespace
    listed = [line.split() for line in node.command("ipvsadm", "-ln").splitlines()]
    at = listed.index(["TCP", f"{VIP}:80", "rr"])
    servers = sorted(listed[at + 1 : at + 4])
    assert [line[:4] for line in servers] == [
        ["->", f"{pod.ip}:{TARGET}", "Masq", "1"] for pod in pods(net)[:3]
    ]
    # Active and inactive connections: those of checks before this one may not have been forgotten yet.
    assert all(line[4].isdigit() and line[5].isdigit() for line in servers), servers
    shown = node.command("ip", "addr", "show", "kube-ipvs0")
    assert "kube-ipvs0: <BROADCAST,NOARP>" in shown, shown
    assert f"inet {VIP}/32 scope global kube-ipvs0" in shown, shown
    assert f"inet6 {VIP6}/128 scope global" in shown, shown
    members = node.command("ipset", "list", "KUBE-CLUSTER-IP")
    assert f"{VIP},tcp:80" in members, members
    fleet.put("web", spec(sessionAffinity="ClientIP"))
    assert f"TCP  {VIP}:80 rr persistent 10800" in node.command("ipvsadm", "-ln")


def check_every_scheduler_serves(net: Network, fleet: IpvsFleet) -> None:
    with only_the_first(fleet):
        web(fleet, net.nodes[0].pods)
        for scheduler in ("rr", "wrr", "lc", "wlc", "sh", "dh", "sed", "nq", "lblc", "lblcr", "mh"):
            fleet.settings(scheduler=scheduler)
            assert f"{VIP}:80 {scheduler}" in net.nodes[0].namespace.command("ipvsadm", "-ln")
            assert tcp(net.client, VIP, 80)
            assert fleet.proxies[0].applier.is_intact()


def check_the_mode_opens_where_it_is_asked_to_and_cleans_up_after_another_process(
    net: Network, fleet: IpvsFleet
) -> None:
    """As `fairway proxy` does it: everything in one thread of the node's namespace."""
    web(fleet, [net.nodes[0].pods[0]])
    modes.check_mode("ipvs")
    state = fleet.proxies[0].tracker
    state.all_changed()
    changes = state.take()

    def serve() -> None:
        with modes.opened("ipvs", SETTINGS, "node-1") as mode:
            mode.synchronise(changes)
            assert mode.is_intact()

    def remove() -> None:
        with modes.opened("ipvs", Settings(), "") as mode:
            mode.remove()

    space = net.nodes[0].namespace
    try:
        space.run(serve)
        assert name(tcp(net.client, VIP, 80)) == "web-1a"
        space.run(remove)
        assert space.command("ipvsadm", "-Sn") + space.command("ipset", "list", "-n") == ""
    finally:
        fleet.proxies[0].restart()


def check_the_tracer_names_the_rules_that_the_kernel_counts(net: Network, fleet: IpvsFleet) -> None:
    """Of every kind of client, to addresses of every kind, in all that can become of them."""
    first, pod = net.nodes[0], net.nodes[0].pods[0]
    senders = {
        "outside": (net.client, Packet(net.client_ip, "", "udp")),
        "pod": (pod.namespace, Packet(pod.ip, "", "udp")),
        "node": (first.namespace, Packet(first.ip, "", "udp", own=True)),
    }
    outer, unused = ("203.0.113.10", "203.0.113.19"), "10.96.77.77"
    net.client.ip(*(f"route replace {address}/32 via {first.ip}" for address in (*outer, unused)))
    targets = ((VIP, 80), (VIP, 81), (first.ip, 30061), *((each, 80) for each in outer), (unused, 80))
    wrong, seen = [], set()
    far = [net.nodes[1].pods[0]]
    for chosen, policy in ((far, "Cluster"), (far, "Local"), ([pod], "Local"), ([], "Cluster")):
        datagrams(fleet, chosen, policy)
        tracing = tracer(fleet.proxies[0])
        for target, (sender, (space, begun)) in itertools.product(targets, senders.items()):
            packet = begun.to(*target)
            (trace,) = tracing.trace(packet)
            seen.add((trace.verdict, trace.translated, trace.masqueraded))
            patience = 0.5 if trace.verdict is Verdict.DROPPED else 20
            differs = hits(trace) ^ counted(fleet.proxies[0], space, packet, patience)
            if differs:
                wrong.append((len(chosen), policy, sender, target, sorted(differs)))
    assert not wrong, json.dumps(wrong, indent=1)
    ways = {(Verdict.REFUSED, False), (Verdict.DROPPED, False), (Verdict.PASSED, True)}
    assert {kind[:2] for kind in seen} == ways, seen


def datagrams(fleet: IpvsFleet, chosen: list[Pod], policy: str) -> None:
    """A Service by addresses of all kinds; its load balancer's is closed to the nodes themselves."""
    whole = spec(
        protocol="UDP",
        type="LoadBalancer",
        nodePort=30061,
        externalIPs=["203.0.113.10"],
        externalTrafficPolicy=policy,
        loadBalancerSourceRanges=["172.30.96.50/32", "10.0.0.0/8"],
    )
    fleet.put("web", whole, {"loadBalancer": {"ingress": [{"ip": "203.0.113.19"}]}})
    fleet.endpoints("web", chosen, TARGET, "UDP")


def rules(net: Network) -> int:
    node = net.nodes[0].namespace
    return sum(node.command(f"{program}-save").count("\n-A ") for program in ("iptables", "ip6tables"))


def check_a_thousand_services_need_no_more_rules_than_one(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, pods(net))
    before, proxy = rules(net), fleet.proxies[0]
    began = time.monotonic()
    many(fleet, net, 1000)
    incremental = time.monotonic() - began
    assert rules(net) == before
    assert len(re.findall(r"^TCP +10\.97", net.nodes[0].namespace.command("ipvsadm", "-ln"), re.M)) == 1000
    client = net.nodes[1].pods[1].namespace
    assert name(tcp(net.nodes[0].pods[0].namespace, "10.97.3.231", 80)).startswith("web-")
    assert tcp(client, VIP, 80)
    proxy.clock.ahead += 1000
    began = time.monotonic()
    assert proxy.applier.is_intact()
    checked = time.monotonic() - began
    began = time.monotonic()
    proxy.restart()
    restarted = time.monotonic() - began
    proxy.applier.remove()
    began = time.monotonic()
    proxy.restart()
    report(
        measured={
            "each": incremental / 1000,
            "check": checked,
            "restart": restarted,
            "from nothing": time.monotonic() - began,
        }
    )


def many(fleet: IpvsFleet, net: Network, count: int) -> None:
    with only_the_first(fleet):
        for number in range(count):
            ip = f"10.97.{number >> 8}.{number & 255}"
            fleet.put(f"s{number}", spec() | {"clusterIP": ip, "clusterIPs": [ip]})
            fleet.endpoints(f"s{number}", net.nodes[0].pods, TARGET)


def check_removing_leaves_no_trace(net: Network, fleet: IpvsFleet) -> None:
    balanced(
        fleet,
        pods(net),
        nodePort=30061,
        externalTrafficPolicy="Local",
        loadBalancerSourceRanges=["10.0.0.0/8"],
    )
    node = net.nodes[0].namespace
    fleet.proxies[0].applier.remove()
    try:
        assert "kube-ipvs0" not in node.command("ip", "addr")
        assert node.command("ipvsadm", "-Sn") == ""
        assert node.command("ipset", "list", "-n") == ""
        for program in ("iptables-save", "ip6tables-save"):
            assert "KUBE" not in node.command(program)
        fleet.proxies[0].applier.remove()
    finally:
        fleet.proxies[0].restart()


def check_virtual_servers_in_excluded_ranges_are_left_alone(net: Network, fleet: IpvsFleet) -> None:
    node = net.nodes[0].namespace
    fleet.settings(excluded_cidrs=("198.51.100.0/24",))
    node.command("ipvsadm", "-A", "-t", "198.51.100.7:80", "-s", "rr")
    proxy = fleet.proxies[0]
    assert proxy.applier.is_intact()
    proxy.restart()
    assert "198.51.100.7:80" in node.command("ipvsadm", "-ln")
    proxy.applier.remove()
    assert "198.51.100.7:80" in node.command("ipvsadm", "-ln")
    node.command("ipvsadm", "-C")


def check_strict_arp_is_set_and_put_back(net: Network, fleet: IpvsFleet) -> None:
    node = net.nodes[0].namespace

    def arp() -> tuple[str, str]:
        both = ("net/ipv4/conf/all/arp_ignore", "net/ipv4/conf/all/arp_announce")
        return node.run(lambda: (sysctl.read(both[0]), sysctl.read(both[1])))

    before = arp()
    fleet.settings(strict_arp=True)
    assert arp() == ("1", "2")
    fleet.settings(strict_arp=False)
    assert arp() == before


CHECKS: dict[str, Callable[[Network, IpvsFleet], None]] = {
    key.removeprefix("check_"): value for key, value in list(globals().items()) if key.startswith("check_")
}


def report(**line: Any) -> None:
    sys.stdout.write(json.dumps(line) + "\n")


def main(wanted: list[str]) -> None:
    # Else a bridge would carry answers from Pod to Pod of one node past the node's own translation.
    subprocess.run(["modprobe", "br_netfilter"], check=True)
    with network() as net:
        for _ in range(2):
            node = net.add_node()
            for letter in "ab":
                net.add_pod(node, f"web-{node.number}{letter}", TARGET)
        fleet = IpvsFleet(net)
        for key in wanted or CHECKS:
            began = time.monotonic()
            try:
                CHECKS[key](net, fleet)
                report(check=key, seconds=round(time.monotonic() - began, 2))
            except Exception:
                report(check=key, error=traceback.format_exc())
            fleet.reset()
        fleet.close()


if __name__ == "__main__":
    main(sys.argv[1:])
