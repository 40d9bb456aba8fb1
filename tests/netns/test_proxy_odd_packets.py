"""Packets that ordinary clients don't send on purpose, through the nftables mode."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from .packets import SCTP, Segment, raw, sctp_init, sctp_ports, segment, tcp_segment
from .proxy_nodes import Fleet
from .topology import TARGET, Namespace, Network, Pod, connect, network

VIP = "10.96.0.80"


@pytest.fixture(scope="module")
def net() -> Iterator[Network]:
    with network() as built:
        for _ in range(2):
            node = built.add_node()
            built.add_pod(node, f"web-{node.number}", TARGET)
        yield built


@pytest.fixture
def fleet(net: Network) -> Iterator[Fleet]:
    built = Fleet(net)
    yield built
    built.close()


def web(fleet: Fleet, pod: Pod, protocol: str = "TCP") -> None:
    port = {"port": 80, "protocol": protocol, "targetPort": TARGET, "nodePort": 30061}
    fleet.put("web", {"type": "NodePort", "clusterIP": VIP, "clusterIPs": [VIP], "ports": [port]})
    fleet.endpoints("web", [pod], TARGET, protocol)


def test_sctp_is_translated_for_cluster_ips_and_node_ports(net: Network, fleet: Fleet) -> None:
    target = net.nodes[1].pods[0]
    web(fleet, target, "SCTP")
    client = net.nodes[0].pods[0]
    for where, address, port, seen in (
        (client.namespace, VIP, 80, client.ip),
        (net.client, VIP, 80, net.nodes[0].ip),
        (net.client, net.nodes[0].ip, 30061, net.nodes[0].ip),
    ):
        with raw(target.namespace, SCTP) as receiving, raw(where, SCTP) as sending:
            sending.sendto(sctp_init(4000 + port % 1000, port), (address, 0))
            source, _, reached = sctp_ports(receiving.recv(4096))
            assert (source, reached) == (seen, TARGET)


@pytest.mark.parametrize("from_outside", [False, True], ids=["pod", "outside"])
def test_a_segment_outside_the_window_does_not_reset_a_live_connection(
    net: Network, fleet: Fleet, from_outside: bool
) -> None:
    """Conntrack calls it invalid and won't translate it; a client that saw it would answer with a reset."""
    target = net.nodes[1].pods[0]
    web(fleet, target)
    client: Namespace = net.client if from_outside else net.nodes[0].pods[0].namespace
    with raw(target.namespace, socket.IPPROTO_TCP) as sniffing, connect(client, VIP, 80) as connection:
        assert connection.recv(100)
        connection.sendall(b"one")
        assert connection.recv(100) == b"one"
        last = newest(sniffing)
        stray = tcp_segment(
            (target.ip, TARGET),
            (last.source, last.source_port),
            last.acknowledged + (1 << 30),
            last.sequence + last.length,
            b"stray",
        )
        sniffing.sendto(stray, (last.source, 0))
        connection.sendall(b"two")
        assert connection.recv(100) == b"two"
        assert not any(seen.flags & 4 for seen in segments(sniffing))


def segments(sniffing: socket.socket) -> list[Segment]:
    """Everything for the Service's port that has arrived, until a moment passes without more."""
    found = []
    sniffing.settimeout(0.3)
    while True:
        try:
            seen = segment(sniffing.recv(65535))
        except TimeoutError:
            return found
        if seen.port == TARGET:
            found.append(seen)


def newest(sniffing: socket.socket) -> Segment:
    return segments(sniffing)[-1]
