"""The node's side of the Pod network, with real packets: the way out, to other nodes, and taking it down."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fairway.api.objects import Node as NodeObject
from fairway.kernel import namespaces, sysctl
from fairway.nodeagent.network.pod_network import BRIDGE
from tests.netns.node_under_test import LAN_IP, NODE_IP, Node, clean_up, node_namespace

CLIENT = {
    "name": "main",
    "image": "busybox",
    "command": ["sh", "-c", "trap 'exit 0' TERM; sleep 1000 & wait"],
}


@pytest.fixture
def lan(tmp_path: Path) -> Iterator[Path]:
    with node_namespace() as other:
        yield other
        asyncio.run(clean_up(tmp_path))


def listener(namespace: Path) -> socket.socket:
    listening = namespaces.run_inside(namespace, lambda: socket.create_server((LAN_IP, 0)))
    listening.setblocking(False)
    return listening


async def seen_as(node: Node, lan: Path) -> tuple[str, str]:
    """A Pod's own address, and the one a server outside sees when the Pod connects to it."""
    with listener(lan) as server:
        port = server.getsockname()[1]
        node.put("client", containers=[CLIENT])
        address = await node.ready("client")
        loop = asyncio.get_running_loop()
        accepting = asyncio.create_task(loop.sock_accept(server))
        await node.inside("client", "nc", "-w", "2", LAN_IP, str(port), "-e", "true")
        connection, (peer, _) = await asyncio.wait_for(accepting, 5)
        connection.close()
    return address, peer


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def nft(*words: str) -> str:
    return subprocess.run(["nft", *words], check=True, capture_output=True, text=True).stdout


def rules() -> str:
    return nft("list", "ruleset")


def node_object(number: int, address: str) -> NodeObject:
    return msgspec.convert(
        {
            "metadata": {"name": f"node-{number}"},
            "spec": {"podCIDR": f"10.244.{number}.0/24"},
            "status": {"addresses": [{"type": "InternalIP", "address": address}]},
        },
        NodeObject,
    )


async def test_the_world_outside_sees_the_node_where_a_pod_connects(lan: Path, tmp_path: Path) -> None:
    async with Node(tmp_path, tmp_path / "images").running() as node:
        _, peer = await seen_as(node, lan)
        assert peer == NODE_IP


async def test_where_pods_are_known_they_keep_their_own_address(lan: Path, tmp_path: Path) -> None:
    async with Node(tmp_path, tmp_path / "images", ("172.31.96.0/24",)).running() as node:
        address, peer = await seen_as(node, lan)
        assert peer == address


async def test_other_nodes_keep_seeing_pods_as_they_are(lan: Path, tmp_path: Path) -> None:
    async with Node(tmp_path, tmp_path / "images").running() as node:
        await node.network.refresh([node_object(8, LAN_IP)])
        address, peer = await seen_as(node, lan)
        assert peer == address


async def test_routes_follow_the_nodes_there_are(lan: Path, tmp_path: Path) -> None:
    async with Node(tmp_path, tmp_path / "images").running() as node:
        await node.network.refresh([node_object(1, NODE_IP), node_object(2, "172.31.96.12")])
        assert "10.244.2.0/24 via 172.31.96.12 dev eth0 proto 96" in ip("route")
        await node.network.refresh([node_object(2, "172.31.96.13")])
        assert "10.244.2.0/24 via 172.31.96.13" in ip("route")
        await node.network.refresh([])
        assert "10.244.2.0/24" not in ip("route")


async def test_a_node_that_can_not_be_reached_does_not_keep_us_from_the_others(
    lan: Path, tmp_path: Path
) -> None:
    async with Node(tmp_path, tmp_path / "images").running() as node:
        await node.network.refresh([node_object(2, "198.51.100.9"), node_object(3, "172.31.96.13")])
        assert "10.244.3.0/24 via 172.31.96.13" in ip("route")


async def test_what_someone_else_took_away_comes_back(lan: Path, tmp_path: Path) -> None:
    async with Node(tmp_path, tmp_path / "images").running() as node:
        nodes = [node_object(2, "172.31.96.12")]
        await node.network.refresh(nodes)
        nft("delete", "table", "ip", "fairway-node")
        ip("route", "del", "10.244.2.0/24")
        await node.network.refresh(nodes, force=True)
        assert "table ip fairway-node" in rules()
        assert "10.244.2.0/24" in ip("route")


async def test_routes_and_rules_of_others_are_left_alone(lan: Path, tmp_path: Path) -> None:
    nft("add", "table", "ip", "theirs")
    ip("route", "add", "203.0.113.0/24", "via", LAN_IP)
    async with Node(tmp_path, tmp_path / "images").running() as node:
        await node.network.refresh([])
        await node.network.take_down()
    assert "table ip theirs" in rules()
    assert "203.0.113.0/24" in ip("route")


async def test_taking_the_network_down_restores_what_was_before(lan: Path, tmp_path: Path) -> None:
    sysctl.write("net/ipv4/ip_forward", "0")
    for _ in range(2):
        async with Node(tmp_path, tmp_path / "images").running():
            assert sysctl.read("net/ipv4/ip_forward") == "1"
    await Node(tmp_path, tmp_path / "images").network.take_down()
    assert sysctl.read("net/ipv4/ip_forward") == "0"
    assert BRIDGE not in ip("link")
    assert "fairway" not in rules()
