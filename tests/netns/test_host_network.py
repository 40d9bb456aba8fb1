"""Whose address is seen of what nodes send beyond their host, and of what the host tells itself."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from ipaddress import IPv4Interface

import pytest

from fairway.cluster import host_network
from fairway.cluster.layout import MOST_CLUSTERS, Layout
from fairway.kernel import namespaces

from .topology import PATIENCE, Namespace, Server, connect

LAYOUT = Layout(MOST_CLUSTERS - 1, 1)
NODE, OWN = str(LAYOUT.nodes[0].address), str(LAYOUT.host_address)
BESIDE, WORLD = IPv4Interface("192.0.2.1/24"), "192.0.2.2"
PORT = 9376


@pytest.fixture
def host() -> Iterator[Namespace]:
    """With a cluster, and with a neighbour on another network."""
    made, world = Namespace("host"), Namespace("world")
    made.ip(f"link add up0 type veth peer name up0 netns {world.name}")
    made.ip(f"address add {BESIDE} dev up0", "link set up0 up")
    world.ip(f"address add {WORLD}/24 dev up0", "link set up0 up")
    turned_on = made.run(lambda: host_network.build(LAYOUT))
    servers = [Server(where, "server", PORT) for where in (made, world)]
    yield made
    for server in servers:
        server.close()
    made.run(lambda: host_network.remove(LAYOUT, turned_on))
    made.close()
    world.close()


def seen(connection: socket.socket) -> str:
    with connection:
        return connection.recv(100).decode().split()[1]


def seen_of_the_node(address: str) -> str:
    node = namespaces.path_of(LAYOUT.nodes[0].namespace)
    return seen(namespaces.run_inside(node, lambda: socket.create_connection((address, PORT), PATIENCE)))


@pytest.mark.parametrize("source", [OWN, "127.0.0.1"])
def test_a_host_that_speaks_to_itself_is_seen_with_the_address_it_chose(host: Namespace, source: str) -> None:
    assert seen(connect(host, OWN, PORT, source)) == source


def test_a_node_is_seen_by_its_host_with_its_own_address(host: Namespace) -> None:
    assert seen_of_the_node(OWN) == NODE


def test_a_node_is_seen_beyond_its_host_with_the_host_s_address(host: Namespace) -> None:
    assert seen_of_the_node(WORLD) == str(BESIDE.ip)
