"""Ports of the node that lead to Pods, with real packets: from outside, from the node itself, from Pods."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.kernel import namespaces
from fairway.nodeagent.network.pod_network import names_for
from fairway.nodeagent.objects import Pod
from tests.netns.node_under_test import NODE_IP, Node, clean_up, http_get, node_namespace, until
from tests.netns.test_nodeagent_network import nft

SERVER = {
    "name": "main",
    "image": "k8s.gcr.io/serve_hostname",
    "readinessProbe": {"httpGet": {"port": 9376}},
}


def with_ports(*ports: dict[str, Any]) -> dict[str, Any]:
    return SERVER | {"ports": [{"containerPort": 9376, **port} for port in ports]}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("images")


@pytest.fixture
def lan(tmp_path: Path) -> Iterator[Path]:
    with node_namespace() as other:
        yield other
        asyncio.run(clean_up(tmp_path))


@pytest.fixture
async def node(lan: Path, tmp_path: Path, images: Path) -> AsyncIterator[Node]:
    async with Node(tmp_path, images).running() as running:
        yield running


async def from_outside(lan: Path, address: str, port: int) -> str:
    """What a machine beside the node gets; empty if it is refused."""

    def asked() -> bytes:
        try:
            with socket.create_connection((address, port), 5) as connection:
                connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return b"".join(iter(lambda: connection.recv(4096), b""))
        except ConnectionRefusedError:
            return b""

    answer = await asyncio.to_thread(namespaces.run_inside, lan, asked)
    return answer.partition(b"\r\n\r\n")[2].decode()


async def refused(address: str, port: int) -> bool:
    try:
        await http_get(address, port)
    except ConnectionRefusedError:
        return True
    return False


async def test_a_host_port_is_reached_from_everywhere_and_goes_with_its_pod(node: Node, lan: Path) -> None:
    node.put("web", containers=[with_ports({"hostPort": 8080})])
    node.put("other", containers=[SERVER])
    await node.ready("web")
    await node.ready("other")
    assert await from_outside(lan, NODE_IP, 8080) == "web\n"
    assert await http_get(NODE_IP, 8080) == "web\n"
    assert await http_get("127.0.0.1", 8080) == "web\n"
    fetch = ("wget", "-qO-", f"http://{NODE_IP}:8080/")
    assert await node.inside("other", *fetch) == "web\n"
    assert await node.inside("web", *fetch) == "web\n"
    node.delete("web")
    await node.gone("web")
    assert await from_outside(lan, NODE_IP, 8080) == ""
    assert await refused("127.0.0.1", 8080)


async def test_a_host_address_narrows_the_port_and_may_be_shared_by_address(node: Node, lan: Path) -> None:
    node.put("here", containers=[with_ports({"hostPort": 8080, "hostIP": "127.0.0.1"})])
    node.put("there", containers=[with_ports({"hostPort": 8080, "hostIP": NODE_IP})])
    await node.ready("here")
    await node.ready("there")
    assert await http_get("127.0.0.1", 8080) == "here\n"
    assert await from_outside(lan, NODE_IP, 8080) == "there\n"


async def test_tcp_and_udp_may_have_the_same_number_and_udp_clients_follow_a_new_pod(
    node: Node, lan: Path
) -> None:
    udp = {"containerPort": 5353, "hostPort": 8080, "protocol": "UDP"}
    first = node.put("first", containers=[with_ports({"hostPort": 8080}, udp)])
    await node.ready("first")
    assert await from_outside(lan, NODE_IP, 8080) == "first\n"
    client = udp_socket(lan)
    with client:
        client.bind(("0.0.0.0", 40000))
        with udp_socket(pod_namespace(first)) as server:
            assert await received(client, server) == b"hello"
        node.delete("first", grace=0)
        await node.gone("first")
        second = node.put("second", containers=[with_ports({"hostPort": 8080}, udp)])
        await node.ready("second")
        with udp_socket(pod_namespace(second)) as server:
            assert await received(client, server) == b"hello"


def pod_namespace(pod: Pod) -> Path:
    return namespaces.path_of(names_for(pod.metadata.uid)[0])


def udp_socket(namespace: Path) -> socket.socket:
    opened = namespaces.run_inside(namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    opened.setblocking(False)
    return opened


async def received(client: socket.socket, server: socket.socket) -> bytes:
    server.bind(("0.0.0.0", 5353))
    loop = asyncio.get_running_loop()
    await loop.sock_sendto(client, b"hello", (NODE_IP, 8080))
    data, _ = await asyncio.wait_for(loop.sock_recvfrom(server, 100), 10)
    return data


async def test_a_pod_whose_port_is_taken_fails_and_one_whose_owner_is_leaving_waits(node: Node) -> None:
    node.put("first", containers=[with_ports({"hostPort": 8080})], terminationGracePeriodSeconds=1)
    await node.ready("first")
    node.put("late", containers=[with_ports({"hostPort": 8080, "hostIP": "127.0.0.1"})])
    await until(lambda: node.last_status("late").get("phase") == "Failed", "the second fails")
    assert node.last_status("late")["reason"] == "NodePorts"
    node.delete("first")
    node.put("next", containers=[with_ports({"hostPort": 8080})])
    await node.ready("next")
    assert await http_get("127.0.0.1", 8080) == "next\n"


async def test_ports_lead_to_pods_while_the_agent_is_away_and_when_it_comes_back(
    lan: Path, tmp_path: Path, images: Path
) -> None:
    async with Node(tmp_path, images).running() as node:
        pod = node.put("web", containers=[with_ports({"hostPort": 8080})])
        await node.ready("web")
    assert await from_outside(lan, NODE_IP, 8080) == "web\n"
    async with Node(tmp_path, images).running() as node:
        # Before it has heard of any Pod.
        assert await from_outside(lan, NODE_IP, 8080) == "web\n"
        node.tell(pod)
        await node.ready("web")
        assert await from_outside(lan, NODE_IP, 8080) == "web\n"


async def test_pods_do_not_reach_what_listens_on_the_nodes_loopback(node: Node) -> None:
    with socket.create_server(("127.0.0.1", 7777)):
        node.put("web", containers=[with_ports({"hostPort": 8080})])
        await node.ready("web")
        script = "ip route add 127.0.0.9/32 via 10.244.7.1 dev eth0 2>/dev/null; nc -w 2 127.0.0.9 7777"
        run = node.worker("web").runs.latest["main"]
        done = await node.runtime.execute(run.id, ["sh", "-c", script])
        assert done.exit_code != 0
        assert "loopback-guard" in nft("list", "table", "ip", "fairway-node")
