"""What becomes of connections and flows when endpoints go, proxies restart, or others break something."""

from __future__ import annotations

import contextlib
import re
import socket

from tests.netns.topology import TARGET, Network, connect, tcp
from tests.netns.web_service import VIP, name, web

from .ipvs_nodes import IpvsFleet
from .web_service import eventually, raising


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
    web(fleet, net.pods)
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
