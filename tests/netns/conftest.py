"""Everything here needs root and a real kernel; without them the tests are skipped, not failed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from fairway.api.resources import NODES
from fairway.client import ApiError, Client, KubeConfig
from tests.netns.agent_under_test import Cluster, create_account
from tests.netns.node_under_test import Node, clean_up, node_namespace, until
from tests.netns.topology import TARGET, Namespace, Network, network


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.root)
            if os.geteuid() != 0:
                item.add_marker(pytest.mark.skip(reason="needs root"))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with node_namespace():
        running = Cluster(tmp_path)
        running.start_api()
        try:
            yield running
        finally:
            running.stop()
            asyncio.run(clean_up(tmp_path / "node"))


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    await until(cluster.kubeconfig.exists, "the API server's kubeconfig")
    async with Client(KubeConfig.load(cluster.kubeconfig)) as opened:
        for _ in range(100):
            try:
                await opened.list(NODES)
                break
            except ApiError:
                await asyncio.sleep(0.1)
        await create_account(opened)
        cluster.start_agent()
        yield opened


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("images")


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    with node_namespace():
        yield tmp_path
        asyncio.run(clean_up(tmp_path))


@pytest.fixture
async def node(data: Path, images: Path) -> AsyncIterator[Node]:
    async with Node(data, images).running() as running:
        yield running


@pytest.fixture
def space() -> Iterator[Namespace]:
    """A network namespace with nothing in it."""
    made = Namespace("space")
    yield made
    made.close()


@pytest.fixture(scope="module")
def net() -> Iterator[Network]:
    """Two nodes, each with two Pods that answer on a port."""
    with network() as built:
        for _ in range(2):
            node = built.add_node()
            for letter in "ab":
                built.add_pod(node, f"web-{node.number}{letter}", TARGET)
        yield built
