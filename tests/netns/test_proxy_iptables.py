"""The iptables mode in a real kernel: real packets, and what `iptables-save` shows to whoever looks."""

from __future__ import annotations

import re
import socket
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.kernel import sysctl
from fairway.kernel.conntrack import KernelConntrack
from fairway.kernel.iptables import NftIptables
from fairway.kernel.local_addresses import local_addresses
from fairway.proxy.changes import Tracker
from fairway.proxy.iptables.applier import Applier, Kernel
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place

from .proxy_cluster import Cluster, eventually
from .proxy_nodes import SETTINGS, Fleet, NodeProxy
from .topology import SILENCE, TARGET, Namespace, Network, Node, Pod, Server, connect, network, tcp, udp

VIP, VIP6 = "10.96.0.80", "fd00:96::80"


class IptablesProxy(NodeProxy):
    """Each call happens outside the node's namespace, as the component's worker thread may."""

    def __init__(self, node: Node, settings: Settings = SETTINGS) -> None:
        space = node.namespace
        self.node = node
        self.handle, self.tracked = space.run(NftIptables), space.run(KernelConntrack)
        self.host = Kernel(
            self.handle,
            self.tracked,
            lambda: space.run(local_addresses),
            lambda name: space.run(lambda: sysctl.read(name)),
            lambda name, value: space.run(lambda: sysctl.write(name, value)),
        )
        self.tracker = Tracker(Place(node.name))
        self.restart(settings)

    def restart(self, settings: Settings | None = None) -> None:
        # Where time stands still, no look at the rules is put off.
        self.applier: Any = Applier(self.host, settings or self.applier.settings, lambda: 0.0)
        self.tracker.all_changed()
        self.applier.synchronise(self.tracker.take())

    def close(self) -> None:
        self.applier.remove()
        self.handle.close()
        self.tracked.close()


class IptablesFleet(Fleet):
    def __init__(self, net: Network) -> None:
        self.proxies = [IptablesProxy(node) for node in net.nodes]
        self._services, self._slices = {}, {}


@pytest.fixture(scope="module")
def _proxies(net: Network) -> Iterator[IptablesFleet]:
    fleet = IptablesFleet(net)
    yield fleet
    fleet.close()


@pytest.fixture
def fleet(_proxies: IptablesFleet) -> Iterator[IptablesFleet]:
    yield _proxies
    _proxies.reset()


def web(fleet: Fleet, chosen: list[Pod], protocol: str = "TCP", **more: Any) -> None:
    entry = {"port": 80, "protocol": protocol, "targetPort": TARGET, "nodePort": more.pop("nodePort", 0)}
    fleet.put("web", {"clusterIP": VIP, "clusterIPs": [VIP, VIP6], "ports": [entry]} | more)
    fleet.endpoints("web", chosen, TARGET, protocol)


def saved(node: Node) -> str:
    return node.namespace.command("iptables-save")


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_endpoints_are_equally_likely(net: Network, fleet: Fleet, vip: str) -> None:
    web(fleet, net.pods)
    client = net.nodes[0].pods[0].namespace
    names = Counter(tcp(client, vip, 80).split()[0] for _ in range(400))
    assert set(names) == {"web-1a", "web-1b", "web-2a", "web-2b"}
    # Fewer than 50 of 400 at one in four is a matter of one in a hundred million.
    assert min(names.values()) >= 50


def test_a_pod_reaches_itself_through_its_service_and_sees_the_node(net: Network, fleet: Fleet) -> None:
    pod = net.nodes[0].pods[0]
    web(fleet, [pod])
    assert tcp(pod.namespace, VIP, 80) == "web-1a 10.244.1.1"


def test_node_ports_answer_from_outside_and_on_localhost(net: Network, fleet: Fleet) -> None:
    web(fleet, [net.nodes[1].pods[0]], type="NodePort", nodePort=30061)
    first = net.nodes[0]
    assert tcp(net.client, first.ip, 30061) == f"web-2a {first.ip}"
    assert tcp(net.client, first.ip6, 30061) == f"web-2a {first.ip6}"
    assert tcp(first.namespace, "127.0.0.1", 30061).startswith("web-2a ")


def test_policy_local_keeps_the_clients_address_and_drops_where_no_endpoint_is(
    net: Network, fleet: Fleet
) -> None:
    web(fleet, [net.nodes[1].pods[0]], type="NodePort", nodePort=30061, externalTrafficPolicy="Local")
    assert tcp(net.client, net.nodes[1].ip, 30061) == f"web-2a {net.client_ip}"
    with pytest.raises(TimeoutError):
        tcp(net.client, net.nodes[0].ip, 30061)


def test_a_client_stays_with_its_endpoint_until_that_goes(net: Network, fleet: Fleet) -> None:
    web(fleet, net.pods, sessionAffinity="ClientIP")
    client = net.nodes[0].pods[0].namespace
    names = {tcp(client, VIP, 80).split()[0] for _ in range(15)}
    assert len(names) == 1
    fleet.endpoints("web", [pod for pod in net.pods if pod.name not in names], TARGET)
    moved = {tcp(client, VIP, 80).split()[0] for _ in range(15)}
    assert len(moved) == 1
    assert moved != names


def test_a_service_without_endpoints_refuses_at_once(net: Network, fleet: Fleet) -> None:
    web(fleet, [], type="NodePort", nodePort=30061)
    for where, address, port in (
        (net.nodes[0].pods[0].namespace, VIP, 80),
        (net.nodes[0].pods[0].namespace, VIP6, 80),
        (net.nodes[0].namespace, VIP, 80),
        (net.client, net.nodes[0].ip, 30061),
    ):
        with pytest.raises(ConnectionRefusedError):
            tcp(where, address, port)


def test_in_classic_style_it_is_dropped(net: Network, fleet: Fleet) -> None:
    fleet.settings(classic=True)
    web(fleet, [])
    for where in (net.nodes[0].pods[0].namespace, net.nodes[0].namespace):
        with pytest.raises(TimeoutError):
            tcp(where, VIP, 80)
    web(fleet, [net.nodes[1].pods[0]])
    assert tcp(net.nodes[0].pods[0].namespace, VIP, 80).startswith("web-2a ")


def test_source_ranges_let_in_who_is_listed(net: Network, fleet: Fleet) -> None:
    balancer = {"loadBalancer": {"ingress": [{"ip": "10.96.200.1"}]}}
    for ranges, allowed in (([f"{net.client_ip}/32"], True), (["192.0.2.0/24"], False)):
        entry = {"port": 80, "targetPort": TARGET, "nodePort": 30061}
        spec = {"type": "LoadBalancer", "loadBalancerSourceRanges": ranges, "ports": [entry]}
        fleet.put("web", {"clusterIP": VIP, "clusterIPs": [VIP]} | spec, balancer)
        fleet.endpoints("web", [net.nodes[1].pods[0]], TARGET)
        if allowed:
            assert tcp(net.client, "10.96.200.1", 80).startswith("web-2a ")
        else:
            with pytest.raises(TimeoutError):
                tcp(net.client, "10.96.200.1", 80)


def test_udp_flows_leave_an_endpoint_that_goes(net: Network, fleet: Fleet) -> None:
    first, second = net.nodes[0].pods[1], net.nodes[1].pods[0]
    web(fleet, [first], "UDP")
    client = net.nodes[0].pods[0].namespace
    assert udp(client, VIP, 80).startswith("web-1b ")
    with client.socket(kind=2) as busy:
        busy.connect((VIP, 80))
        for expected, chosen in (("web-1b ", [first]), ("web-2a ", [second])):
            fleet.endpoints("web", chosen, TARGET, "UDP")
            busy.send(b"?")
            assert busy.recv(100).decode().startswith(expected)


def test_established_connections_survive_a_restart_and_a_removed_service(net: Network, fleet: Fleet) -> None:
    web(fleet, [net.nodes[1].pods[0]])
    with connect(net.nodes[0].pods[0].namespace, VIP, 80) as held:
        assert held.recv(100).startswith(b"web-2a ")
        fleet.proxies[0].restart()
        held.send(b"still there?")
        assert held.recv(100) == b"still there?"


@pytest.mark.parametrize(
    "command",
    [
        ["iptables", "-t", "nat", "-F"],
        ["iptables", "-t", "nat", "-D", "KUBE-SERVICES", "1"],
        ["iptables", "-D", "FORWARD", "1"],
        ["nft", "flush", "ruleset"],
        ["ip6tables", "-t", "nat", "-F", "KUBE-SERVICES"],
    ],
    ids=" ".join,
)
def test_what_someone_else_removes_is_noticed_and_put_back(
    net: Network, fleet: Fleet, command: list[str]
) -> None:
    web(fleet, net.pods)
    proxy, space = fleet.proxies[0], net.nodes[0].namespace
    before = saved_rules(net.nodes[0])
    assert proxy.applier.is_intact()
    space.command(*command)
    assert not proxy.applier.is_intact()
    proxy.applier.synchronise({})
    assert proxy.applier.is_intact()
    assert saved_rules(net.nodes[0]) == before


def saved_rules(node: Node) -> set[str]:
    text = saved(node) + node.namespace.command("ip6tables-save")
    return {line for line in text.splitlines() if line.startswith(("-A ", ":KUBE"))}


def test_health_checks_come_through_a_firewall_that_lets_in_nothing_else(net: Network, fleet: Fleet) -> None:
    checked, other = 31900, 31901
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": checked}
    web(fleet, net.pods, **spec)
    node = net.nodes[0]
    servers = [Server(node.namespace, "node", port) for port in (checked, other)]
    drop = ("INPUT", "-p", "tcp", "-j", "DROP")
    for program in ("iptables", "ip6tables"):
        node.namespace.command(program, "-A", *drop)
    try:
        for address in (node.ip, node.ip6):
            assert tcp(net.client, address, checked).startswith("node ")
            with pytest.raises(TimeoutError):
                connect(net.client, address, other)
    finally:
        for program in ("iptables", "ip6tables"):
            node.namespace.command(program, "-D", *drop)
        for server in servers:
            server.close()


def test_removing_leaves_rules_of_others(net: Network, fleet: Fleet) -> None:
    web(fleet, net.pods)
    space = net.nodes[0].namespace
    space.command("iptables", "-A", "INPUT", "-s", "192.0.2.99", "-j", "ACCEPT")
    fleet.proxies[0].applier.remove()
    try:
        assert saved_rules(net.nodes[0]) == {"-A INPUT -s 192.0.2.99/32 -j ACCEPT"}
    finally:
        space.command("iptables", "-F", "INPUT")
        fleet.proxies[0].restart()


# -- by the book ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("classic", [False, True])
def test_hostnames_by_the_book(net: Network, fleet: Fleet, classic: bool) -> None:
    """The Service `hostnames` with three endpoints, as books about Kubernetes walk through it."""
    fleet.settings(classic=classic)
    fleet.put(
        "hostnames", {"clusterIP": VIP, "clusterIPs": [VIP], "ports": [{"port": 80, "targetPort": TARGET}]}
    )
    fleet.endpoints("hostnames", net.pods[:3], TARGET)
    text = saved(net.nodes[0])
    jump = re.search(rf"-A KUBE-SERVICES -d {VIP}/32 -p tcp .*--dport 80 -j (KUBE-SVC-\w{{16}})\n", text)
    assert jump
    if classic:
        assert jump.group(1) == "KUBE-SVC-NWV5X2332I4OT4T3"
    choices = re.findall(rf"-A {jump.group(1)} (.*) -j (KUBE-SEP-\w{{16}})\n", text)
    chances = [re.findall(r"statistic --mode random --probability ([\d.]+)", match) for match, _ in choices]
    assert [[round(float(p), 4) for p in chance] for chance in chances] == [[0.3333], [0.5], []]
    for pod, (_, endpoint) in zip(net.pods[:3], choices, strict=True):
        hairpin, translation = re.findall(rf"-A {endpoint} (.*)\n", text)
        assert hairpin.startswith(f"-s {pod.ip}/32 ")
        assert hairpin.endswith("-j KUBE-MARK-MASQ")
        assert translation.endswith(f"-j DNAT --to-destination {pod.ip}:{TARGET}")
    postrouting = re.findall(r"-A KUBE-POSTROUTING (.*)\n", text)
    assert re.search(r"-m mark (! )?--mark 0x4000/0x4000 .*-j MASQUERADE", "\n".join(postrouting), re.DOTALL)
    for hook in ("PREROUTING", "OUTPUT"):
        assert f'-A {hook} -m comment --comment "kubernetes service portals" -j KUBE-SERVICES\n' in text


def test_a_virtual_ip_does_not_answer_ping(net: Network, fleet: Fleet) -> None:
    web(fleet, net.pods)
    client = net.nodes[0].pods[0].namespace
    assert answers_ping(client, net.nodes[0].ip)
    assert not answers_ping(client, VIP)


def answers_ping(where: Namespace, address: str) -> bool:
    """An echo request by hand: not every machine has the program."""
    request = struct.pack(">BBHHH", 8, 0, 0xF7FD, 1, 1)
    with where.run(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)) as raw:
        raw.settimeout(SILENCE)
        raw.connect((address, 0))
        raw.send(request)
        try:
            # Connected, it hears only that address; type 0 is the answer.
            return raw.recv(100)[20] == 0
        except (TimeoutError, OSError):
            return False


# -- as a process --------------------------------------------------------------------------------------


def test_the_command_serves_repairs_survives_a_kill_and_cleans_up(tmp_path: Path) -> None:
    with network() as net:
        node = net.add_node()
        pod = net.add_pod(node, "web-1", TARGET)
        cluster = Cluster(net, tmp_path, "--proxy-mode", "iptables")
        try:
            cluster.service("web", VIP)
            cluster.endpoints("web", [pod])
            eventually(lambda: tcp(net.client, VIP, 80).startswith("web-1 "))
            with connect(net.client, VIP, 80) as held:
                assert held.recv(100)
                node.namespace.command("iptables", "-t", "nat", "-F")
                eventually(lambda: tcp(net.client, VIP, 80).startswith("web-1 "))
                cluster.proxies[0].kill()
                assert tcp(net.client, VIP, 80).startswith("web-1 ")
                cluster.endpoints("web", [])
                cluster.proxies[0].start()
                eventually(lambda: _is_refused(net.client))
                held.sendall(b"still there")
                assert held.recv(100) == b"still there"
        finally:
            cluster.close()
        assert "KUBE-SERVICES" in saved(node)
        program = "from fairway.cli.main import main; main()"
        node.namespace.command(sys.executable, "-c", program, "proxy", "--cleanup")
        assert "KUBE-" not in saved(node) + node.namespace.command("ip6tables-save")


def _is_refused(where: Namespace) -> bool:
    try:
        tcp(where, VIP, 80)
    except ConnectionRefusedError:
        return True
    return False
