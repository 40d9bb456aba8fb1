"""Pods whose networks are made by real CNI plugins (Debian: containernetworking-plugins)."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.kernel import namespaces
from fairway.nodeagent.network.cni_networks import CniNetworks
from fairway.nodeagent.network.pod_network import names_for
from fairway.nodeagent.removal import remove_all_pods
from tests.netns.node_under_test import NODE_IP, Node, http_get, node_namespace, traces, until

PLUGINS = (Path("/usr/lib/cni"),)
BRIDGE = "cni-test0"
HOSTNAMES = {
    "name": "main",
    "image": "k8s.gcr.io/serve_hostname",
    "readinessProbe": {"httpGet": {"port": 9376}},
}

pytestmark = pytest.mark.skipif(not (PLUGINS[0] / "bridge").exists(), reason="needs CNI plugins")


def network(leases: Path, version: str = "1.0.0", **bridge: Any) -> dict[str, Any]:
    addresses = {
        "type": "host-local",
        "dataDir": str(leases),
        "ranges": [[{"subnet": "10.99.3.0/24"}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    first = {"type": "bridge", "bridge": BRIDGE, "isGateway": True, "hairpinMode": True, "ipam": addresses}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}
    return {"cniVersion": version, "name": "tested", "plugins": [first | bridge, ports]}


def leases(data: Path) -> set[str]:
    """The addresses that host-local has given away."""
    folder = data / "leases" / "tested"
    return {path.name for path in folder.glob("10.*")} if folder.is_dir() else set()


def rules() -> str:
    return subprocess.run(["iptables-save"], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("images")


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "net.d").mkdir()
    (tmp_path / "net.d" / "20-later.conflist").write_text("never read")
    (tmp_path / "net.d" / "10-tested.conflist").write_text(json.dumps(network(tmp_path / "leases")))
    with node_namespace():
        yield tmp_path
        asyncio.run(remove_all_pods(tmp_path, PLUGINS))


def agent(data: Path, images: Path) -> Node:
    return Node(data, images, networks=CniNetworks(data / "net.d", PLUGINS))


@pytest.fixture
async def node(data: Path, images: Path) -> AsyncIterator[Node]:
    async with agent(data, images).running() as running:
        yield running


async def test_pods_have_their_addresses_from_the_plugins_and_reach_one_another(node: Node) -> None:
    for name in ("one", "two"):
        node.put(name, containers=[HOSTNAMES])
    first, second = await node.ready("one"), await node.ready("two")
    assert {first, second} == leases(node.data)
    assert await http_get(first, 9376) == "one\n"
    assert await node.inside("one", "wget", "-qO-", f"http://{second}:9376") == "two\n"
    assert "127.0.0.1" in await node.inside("one", "ip", "address", "show", "up", "dev", "lo")


async def test_a_pod_that_ends_gives_back_what_it_had(node: Node) -> None:
    nothing = traces(node.data)
    pod = node.put("brief", containers=[HOSTNAMES])
    await node.ready("brief")
    namespace, _ = names_for(pod.metadata.uid)
    assert namespaces.exists(namespace)
    assert leases(node.data)
    node.delete("brief")
    await node.gone("brief")
    assert leases(node.data) == set()
    assert not namespaces.path_of(namespace).exists()
    assert traces(node.data) == nothing


async def test_ports_of_the_node_are_opened_by_the_plugin_that_can(node: Node) -> None:
    node.put("open", containers=[HOSTNAMES | {"ports": [{"containerPort": 9376, "hostPort": 8099}]}])
    await node.ready("open")
    assert await http_get(NODE_IP, 8099) == "open\n"
    assert "8099" in rules()
    node.delete("open")
    await node.gone("open")
    assert "8099" not in rules()


async def test_a_restarted_agent_knows_the_networks_and_takes_them_down(data: Path, images: Path) -> None:
    async with agent(data, images).running() as first:
        pod = first.put("steady", containers=[HOSTNAMES])
        address = await first.ready("steady")
        pid = first.worker("steady").runs.latest["main"].pid
    async with agent(data, images).running() as second:
        second.tell(pod)
        assert await second.ready("steady") == address
        assert second.worker("steady").runs.latest["main"].pid == pid
        second.delete("steady")
        await second.gone("steady")
    assert leases(data) == set()


async def test_removing_all_pods_of_a_node_gives_their_addresses_back(data: Path, images: Path) -> None:
    async with agent(data, images).running() as node:
        node.put("left", containers=[HOSTNAMES])
        await node.ready("left")
    assert leases(data)
    await remove_all_pods(data, PLUGINS)
    assert leases(data) == set()


async def test_what_a_plugin_refuses_is_told_and_tried_again_until_it_works(node: Node) -> None:
    path = node.data / "net.d" / "10-tested.conflist"
    good = path.read_text()
    path.write_text(json.dumps(network(node.data / "leases", ipam={"type": "host-local", "ranges": []})))
    node.put("late", containers=[HOSTNAMES])
    await until(lambda: any("CNI plugin bridge" in message for _, _, message in node.api.events), "told")
    path.write_text(json.dumps(network(node.data / "leases", type="no-such-plugin")))
    await until(lambda: any("no-such-plugin" in message for _, _, message in node.api.events), "told too")
    path.write_text(good)
    assert await http_get(await node.ready("late"), 9376) == "late\n"


async def test_a_configuration_of_an_older_version_works_too(node: Node) -> None:
    old = network(node.data / "leases", version="0.3.1")
    (node.data / "net.d" / "00-old.conflist").write_text(json.dumps(old))
    node.put("old", containers=[HOSTNAMES])
    assert await http_get(await node.ready("old"), 9376) == "old\n"
    node.delete("old")
    await node.gone("old")
    assert leases(node.data) == set()
