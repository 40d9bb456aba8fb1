"""From one proxy mode to another: each begins where the other was, and leaves nothing of it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from fairway.kernel.traces import traces
from fairway.proxy.leftovers import has_left
from fairway.proxy.modes import MODES

from .proxy_cluster import TARGET, Cluster, eventually, get
from .topology import network, tcp

METRICS = 10249
USABLE = [mode for mode in MODES if mode != "ipvs" or Path("/proc/net/ip_vs").exists()]


def walk(modes: list[str]) -> list[str]:
    """The shortest way on which every mode follows every other one."""
    steps = [step for at, mode in enumerate(modes) for later in modes[at + 1 :] for step in (mode, later)]
    return [*steps, modes[0]]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with network() as net:
        net.add_pod(net.add_node(), "web-1", TARGET)
        built = Cluster(net, tmp_path)
        yield built
        built.close()


def test_every_mode_takes_over_from_every_other_and_cleanup_leaves_nothing(cluster: Cluster) -> None:
    node, proxy = cluster.net.nodes[0], cluster.proxies[0]
    cluster.service("web", "10.96.0.50")
    cluster.endpoints("web", [node.pods[0]])
    for before, mode in pairwise(["", *walk(USABLE)]):
        proxy.kill(signal.SIGTERM)
        proxy.start("--proxy-mode", mode)
        eventually(lambda mode=mode: get(node.namespace, "127.0.0.1", METRICS, "/proxyMode")[2] == mode)
        eventually(lambda mode=mode: has_left(mode, node.namespace.run(traces)))
        if before:
            eventually(lambda before=before: not has_left(before, node.namespace.run(traces)))
        for where in (node.namespace, cluster.net.client):
            eventually(lambda where=where: tcp(where, "10.96.0.50", 80).startswith("web-1"))
        page = get(node.namespace, "127.0.0.1", METRICS, "/rules?service=default/web")[2]
        assert "cluster IP 10.96.0.50:80" in page
        assert f"{node.pods[0].ip}:{TARGET}" in page
    proxy.kill(signal.SIGTERM)
    proxy.start("--cleanup")
    assert proxy.wait() == 0
    left = node.namespace.run(traces)
    assert not any(has_left(mode, left) for mode in USABLE)
    assert node.namespace.command("ip", "rule").count("lookup") == 3


def test_cleanup_needs_no_api_server(cluster: Cluster) -> None:
    node, proxy = cluster.net.nodes[0], cluster.proxies[0]
    eventually(lambda: has_left("nftables", node.namespace.run(traces)))
    proxy.kill()
    cluster.apiserver.kill()
    proxy.start("--cleanup")
    assert proxy.wait() == 0
    assert not has_left("nftables", node.namespace.run(traces))
