"""Real packets through the userspace mode: what the relay promises beyond the behaviour of all modes."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.proxy.userspace import channel, messages

from .topology import (
    SILENCE,
    TARGET,
    Namespace,
    Network,
    Pod,
    Server,
    connect,
    refused_at_once,
    tcp,
    udp,
)
from .userspace_nodes import UserspaceFleet

VIP, VIP6 = "10.96.0.80", "fd00:96::80"


@pytest.fixture(scope="module")
def _proxies(net: Network) -> Iterator[UserspaceFleet]:
    fleet = UserspaceFleet(net)
    yield fleet
    fleet.close()


@pytest.fixture
def fleet(_proxies: UserspaceFleet) -> Iterator[UserspaceFleet]:
    yield _proxies
    _proxies.reset()


def web(fleet: UserspaceFleet, chosen: list[Pod], protocol: str = "TCP", **more: Any) -> None:
    node_port = {"nodePort": more.pop("nodePort")} if "nodePort" in more else {}
    entry = {"port": 80, "protocol": protocol, "targetPort": TARGET} | node_port
    fleet.put("web", {"clusterIP": VIP, "clusterIPs": [VIP, VIP6], "ports": [entry]} | more)
    fleet.endpoints("web", chosen, TARGET, protocol)


def name(answer: str) -> str:
    return answer.split()[0]


@pytest.mark.parametrize("vip", [VIP, VIP6])
@pytest.mark.parametrize("ask", [tcp, udp])
def test_clients_are_served_in_exact_turn(net: Network, fleet: UserspaceFleet, vip: str, ask: Any) -> None:
    web(fleet, net.pods[:3], "TCP" if ask is tcp else "UDP")
    client = net.nodes[0].pods[1].namespace
    for pod in net.pods[:3]:
        # A neighbour that isn't known yet may take longer than the relay waits for a backend.
        tcp(net.nodes[0].namespace, pod.ip if vip == VIP else pod.ip6, TARGET)
    turn = [name(ask(client, vip, 80)) for _ in range(9)]
    assert Counter(turn[:3]) == Counter(["web-1a", "web-1b", "web-2a"])
    assert turn == turn[:3] * 3


def test_a_backend_that_refuses_is_passed_over(net: Network, fleet: UserspaceFleet) -> None:
    web(fleet, net.pods[:2])
    fleet.put("web", {"clusterIP": VIP, "ports": [{"port": 80, "targetPort": TARGET}]})
    dead = net.pods[2]
    dead.server.close()
    try:
        fleet.endpoints("web", net.pods[:3], TARGET)
        turn = [name(tcp(net.client, VIP, 80)) for _ in range(8)]
        assert turn == turn[:2] * 4
        assert set(turn) == {"web-1a", "web-1b"}
    finally:
        dead.server = Server(dead.namespace, dead.name, TARGET)


def test_a_service_whose_backends_all_refuse_resets_its_clients(net: Network, fleet: UserspaceFleet) -> None:
    fleet.put("web", {"clusterIP": VIP, "ports": [{"port": 80, "targetPort": 1}]})
    fleet.endpoints("web", net.pods[:2], 1)
    with pytest.raises(ConnectionResetError):
        tcp(net.client, VIP, 80)


def test_much_data_arrives_unchanged_in_both_directions_and_half_closes_are_kept(
    net: Network, fleet: UserspaceFleet
) -> None:
    """The client ends its side first; then the backend answers with all it got and ends its own."""
    data = os.urandom(1 << 20) * 24
    pod = net.nodes[1].pods[0]
    with Mirror(pod.namespace, 7001):
        fleet.put("web", {"clusterIP": VIP, "clusterIPs": [VIP, VIP6], "ports": [{"port": 80}]})
        fleet.endpoints("web", [pod], 7001)
        for vip in (VIP, VIP6):
            with connect(net.nodes[0].pods[0].namespace, vip, 80) as connection:
                connection.settimeout(60)
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                received = bytearray()
                while chunk := connection.recv(1 << 20):
                    received += chunk
            assert received == data


def test_a_backend_may_end_its_side_first(net: Network, fleet: UserspaceFleet) -> None:
    pod = net.nodes[1].pods[0]
    with Mirror(pod.namespace, 7002, ends_first=True) as mirror:
        fleet.put("web", {"clusterIP": VIP, "ports": [{"port": 80}]})
        fleet.endpoints("web", [pod], 7002)
        with connect(net.client, VIP, 80) as connection:
            connection.settimeout(30)
            assert connection.recv(10) == b""
            connection.sendall(b"still heard")
            connection.shutdown(socket.SHUT_WR)
            assert mirror.received.get(timeout=30) == b"still heard"


@pytest.mark.parametrize("ask", [tcp, udp])
def test_a_client_with_affinity_stays_until_its_backend_goes(
    net: Network, fleet: UserspaceFleet, ask: Any
) -> None:
    protocol = "TCP" if ask is tcp else "UDP"
    web(fleet, net.pods, protocol, sessionAffinity="ClientIP")
    first = {name(ask(net.client, VIP, 80)) for _ in range(8)}
    assert len(first) == 1
    for proxy in fleet.proxies:
        proxy.restart()
    assert {name(ask(net.client, VIP, 80)) for _ in range(4)} == first
    fleet.endpoints("web", [pod for pod in net.pods if pod.name not in first], TARGET, protocol)
    second = {name(ask(net.client, VIP, 80)) for _ in range(8)}
    assert len(second) == 1
    assert second != first


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_without_endpoints_clients_are_refused_at_once(net: Network, fleet: UserspaceFleet, vip: str) -> None:
    web(fleet, net.pods)
    name(tcp(net.client, vip, 80))
    web(fleet, [])
    for where in (net.nodes[0].pods[0].namespace, net.nodes[0].namespace, net.client):
        assert refused_at_once(where, vip, 80)


def test_connections_survive_their_endpoints_departure_and_the_proxy_s_restart(
    net: Network, fleet: UserspaceFleet
) -> None:
    web(fleet, [net.nodes[0].pods[0]])
    with connect(net.client, VIP, 80) as connection:
        assert connection.recv(100).startswith(b"web-1a")
        fleet.endpoints("web", [net.nodes[1].pods[0]], TARGET)
        fleet.proxies[0].restart()
        assert name(tcp(net.client, VIP, 80)) == "web-2a"
        fleet.delete("web")
        with pytest.raises(ConnectionRefusedError):
            tcp(net.client, VIP, 80)
        connection.sendall(b"still there?")
        assert connection.recv(100) == b"still there?"


def test_a_udp_client_moves_on_when_its_backend_goes(net: Network, fleet: UserspaceFleet) -> None:
    web(fleet, [net.nodes[0].pods[0]], "UDP")
    with net.client.socket(kind=socket.SOCK_DGRAM) as client:
        client.connect((VIP, 80))
        for expected in ([net.nodes[0].pods[0]], [net.nodes[1].pods[1]]):
            fleet.endpoints("web", expected, TARGET, "UDP")
            client.send(b"?")
            assert name(client.recv(100).decode()) == expected[0].name


@pytest.mark.parametrize("six", [False, True])
@pytest.mark.parametrize("ask", [tcp, udp])
def test_external_policy_local_shows_the_client_to_the_backend(
    net: Network, fleet: UserspaceFleet, ask: Any, six: bool
) -> None:
    protocol = "TCP" if ask is tcp else "UDP"
    local = {"type": "NodePort", "nodePort": 30061, "externalTrafficPolicy": "Local"}
    web(fleet, [net.nodes[1].pods[0]], protocol, **local)
    first, second = net.nodes
    address, client = (second.ip6, net.client_ip6) if six else (second.ip, net.client_ip)
    assert ask(net.client, address, 30061) == f"web-2a {client}"
    if not six:
        with pytest.raises(TimeoutError):
            ask(net.client, first.ip, 30061, *([SILENCE] if ask is udp else []))
    # From inside the cluster any endpoint serves.
    assert name(ask(first.pods[0].namespace, first.ip6 if six else first.ip, 30061)) == "web-2a"
    assert name(ask(first.namespace, first.ip6 if six else first.ip, 30061)) == "web-2a"


def test_a_pod_reaches_itself_and_the_backend_sees_the_node(net: Network, fleet: UserspaceFleet) -> None:
    pod = net.nodes[0].pods[0]
    web(fleet, [pod])
    assert tcp(pod.namespace, VIP, 80) == "web-1a 10.244.1.1"


def test_a_node_port_is_served_on_localhost_of_the_node(net: Network, fleet: UserspaceFleet) -> None:
    web(fleet, [net.nodes[1].pods[0]], type="NodePort", nodePort=30061)
    assert name(tcp(net.nodes[0].namespace, "127.0.0.1", 30061)) == "web-2a"
    assert name(tcp(net.nodes[0].namespace, "::1", 30061)) == "web-2a"


def test_the_relay_s_own_ports_are_closed_to_strangers(net: Network, fleet: UserspaceFleet) -> None:
    web(fleet, net.pods)
    net.client.ip("route replace 169.254.96.0/24 via 172.30.96.11")
    name(tcp(net.client, VIP, 80))
    relay = next(iter(fleet.proxies[0].applier._bound.values()))
    for where in (net.client, net.nodes[0].namespace, net.nodes[0].pods[0].namespace):
        with pytest.raises(ConnectionRefusedError):
            tcp(where, relay.address, relay.port)


def test_a_relay_that_dies_is_replaced(net: Network, fleet: UserspaceFleet) -> None:
    web(fleet, net.pods)
    proxy = fleet.proxies[0]
    assert proxy.applier.is_intact()
    os.kill(relay_processes(proxy.node.namespace)[0], signal.SIGKILL)
    deadline = time.monotonic() + 30
    while proxy.applier.is_intact() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not proxy.applier.is_intact()
    proxy.applier.synchronise({})
    assert proxy.applier.is_intact()
    assert {name(tcp(net.client, VIP, 80)) for _ in range(4)} == {pod.name for pod in net.pods}


def test_a_relay_of_another_version_makes_room_and_ends_with_its_last_connection(
    net: Network, fleet: UserspaceFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    web(fleet, [net.nodes[0].pods[0]])
    proxy, space = fleet.proxies[0], net.nodes[0].namespace
    (old,) = relay_processes(space)
    with connect(net.client, VIP, 80) as connection:
        assert connection.recv(100).startswith(b"web-1a")
        monkeypatch.setattr(channel, "VERSION", channel.VERSION + 1)
        proxy.restart()
        monkeypatch.undo()
        assert len(relay_processes(space)) == 2
        assert name(tcp(net.client, VIP, 80)) == "web-1a"
        connection.sendall(b"still there?")
        assert connection.recv(100) == b"still there?"
    deadline = time.monotonic() + 30
    while old in relay_processes(space) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(relay_processes(space)) == 1


def test_the_relay_listens_to_no_other_user(net: Network, fleet: UserspaceFleet) -> None:
    """Another user on the node could otherwise lead everyone's traffic to himself."""
    web(fleet, net.pods)
    program = (
        "import socket, sys\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        "s.settimeout(30)\n"
        "s.connect(chr(0) + sys.argv[1])\n"
        "try:\n"
        "    s.sendall(bytes.fromhex(sys.argv[2]))\n"
        "    print(s.recv(100))\n"
        "except ConnectionError:\n"
        "    print(b'')\n"
    )
    stop = messages.frame(messages.End()).hex()
    name_of_socket = messages.SOCKET_NAME.removeprefix("\0")
    user = ("setpriv", "--reuid", "65534", "--clear-groups", "/usr/bin/python3")
    said = net.nodes[0].namespace.command(*user, "-c", program, name_of_socket, stop)
    assert said.strip() == "b''"
    assert len(relay_processes(net.nodes[0].namespace)) == 1
    assert name(tcp(net.client, VIP, 80))


def test_removal_leaves_nothing_behind(net: Network, fleet: UserspaceFleet) -> None:
    web(fleet, net.pods)
    proxy, space = fleet.proxies[1], net.nodes[1].namespace
    proxy.applier.remove()
    try:
        assert "fairway" not in space.command("nft", "list", "tables")
        assert not relay_processes(space)
        for family in ("-4", "-6"):
            assert "9696" not in space.command("ip", family, "rule")
            assert "proto 97" not in space.command("ip", family, "route", "show", "table", "all")
        proxy.applier.remove()
    finally:
        proxy.restart()
    assert name(tcp(space, VIP, 80))


def relay_processes(space: Namespace) -> list[int]:
    """Those that run in the namespace."""
    wanted = space.run(lambda: os.stat("/proc/thread-self/ns/net").st_ino)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            if b"fairway.proxy.userspace.relay" in command and (entry / "ns/net").stat().st_ino == wanted:
                found.append(int(entry.name))
    return found


class Mirror:
    """Reads until the client ends its side, then sends all of it back. Or ends its own side at once."""

    def __init__(self, where: Namespace, port: int, ends_first: bool = False) -> None:
        self.received: queue.Queue[bytes] = queue.Queue()
        self._ends_first = ends_first
        self._listening = where.run(
            lambda: socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
        )
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Mirror:
        return self

    def __exit__(self, *ignored: object) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                with connection:
                    if self._ends_first:
                        connection.shutdown(socket.SHUT_WR)
                    data = bytearray()
                    while chunk := connection.recv(1 << 20):
                        data += chunk
                    self.received.put(bytes(data))
                    if not self._ends_first:
                        connection.sendall(data)
