"""UDP clients that never stop sending must not stick to an endpoint that has gone."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .proxy_nodes import Fleet
from .topology import TARGET, Namespace, Network, network
from .web_service import VIP, VIP6, name, spec


@pytest.fixture(scope="module")
def net() -> Iterator[Network]:
    with network() as built:
        for _ in range(2):
            node = built.add_node()
            built.add_pod(node, f"web-{node.number}", TARGET)
        yield built


@pytest.fixture
def fleet(net: Network) -> Iterator[Fleet]:
    fleet = Fleet(net)
    fleet.put("web", spec(protocol="UDP", type="NodePort", nodePort=30061))
    yield fleet
    fleet.close()


class Talker:
    """A client that keeps its port, and so its flow."""

    def __init__(self, where: Namespace, address: str, port: int) -> None:
        self.socket = where.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect((address, port))

    def ask(self) -> str:
        self.socket.send(b"?")
        return name(self.socket.recv(100).decode())


@contextmanager
def talker(where: Namespace, address: str, port: int) -> Iterator[Talker]:
    client = Talker(where, address, port)
    with client.socket:
        yield client


@pytest.mark.parametrize("frontend", [(VIP, 80), (VIP6, 80), ("172.30.96.11", 30061), ("fd00:30::11", 30061)])
def test_a_busy_flow_moves_to_another_endpoint_when_its_own_goes(
    net: Network, fleet: Fleet, frontend: tuple[str, int]
) -> None:
    first, second = net.nodes[0].pods[0], net.nodes[1].pods[0]
    fleet.endpoints("web", [first], TARGET, "UDP")
    with talker(net.client, *frontend) as client:
        assert client.ask() == first.name
        fleet.endpoints("web", [first, second], TARGET, "UDP")
        assert client.ask() == first.name, "a flow stays as long as its endpoint does"
        fleet.endpoints("web", [second], TARGET, "UDP")
        assert client.ask() == second.name


@pytest.mark.parametrize("frontend", [(VIP, 80), (VIP6, 80)])
def test_a_busy_flow_is_refused_when_the_last_endpoint_goes_and_served_when_one_comes(
    net: Network, fleet: Fleet, frontend: tuple[str, int]
) -> None:
    first, second = net.nodes[0].pods[0], net.nodes[1].pods[0]
    fleet.endpoints("web", [first], TARGET, "UDP")
    with talker(net.client, *frontend) as client:
        assert client.ask() == first.name
        fleet.endpoints("web", [], TARGET, "UDP")
        with pytest.raises(ConnectionRefusedError):
            client.ask()
        fleet.endpoints("web", [second], TARGET, "UDP")
        assert client.ask() == second.name


def test_a_busy_flow_ends_when_the_service_is_deleted(net: Network, fleet: Fleet) -> None:
    fleet.endpoints("web", [net.nodes[0].pods[0]], TARGET, "UDP")
    with talker(net.client, VIP, 80) as client:
        assert client.ask()
        fleet.delete("web")
        with pytest.raises(ConnectionRefusedError):
            client.ask()


def test_flows_that_went_stale_while_no_proxy_ran_are_found_at_the_start(net: Network, fleet: Fleet) -> None:
    first, second = net.nodes[0].pods[0], net.nodes[1].pods[0]
    fleet.endpoints("web", [first], TARGET, "UDP")
    with talker(net.client, VIP, 80) as client, talker(net.client, net.nodes[0].ip, 30061) as other:
        assert client.ask() == other.ask() == first.name
        proxy = fleet.proxies[0]
        applier, proxy.applier = proxy.applier, _Dead()  # type: ignore[assignment]
        fleet.endpoints("web", [second], TARGET, "UDP")
        assert client.ask() == first.name
        proxy.applier = applier
        proxy.restart()
        assert client.ask() == other.ask() == second.name


def test_flows_of_others_are_left_alone(net: Network, fleet: Fleet) -> None:
    first, second = net.nodes[0].pods[0], net.nodes[1].pods[0]
    fleet.endpoints("web", [first], TARGET, "UDP")
    node = net.nodes[0].namespace
    with talker(net.client, first.ip, TARGET) as direct, talker(net.client, VIP, 80) as client:
        direct.ask()
        client.ask()
        before = [
            line for line in node.command("conntrack", "-L", "-p", "udp").splitlines() if first.ip in line
        ]
        assert len(before) == 2
        fleet.endpoints("web", [second], TARGET, "UDP")
        after = node.command("conntrack", "-L", "-p", "udp").splitlines()
        assert [line for line in after if f"dst={first.ip}" in line and f"dport={TARGET}" in line]
        assert not [line for line in after if VIP in line]


class _Dead:
    def apply(self, changes: object) -> None:
        return None
