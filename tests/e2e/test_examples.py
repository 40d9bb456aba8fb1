"""Every example does what its README shows, on a cluster of three nodes, in every proxy mode."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clusters import Cluster
from tests.e2e.console import play

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/README.md"))
MODES = ("nftables", "iptables", "userspace")


def modes(example: Path) -> tuple[str, ...]:
    """All, unless the example is about some of them: then it says which."""
    listed = example / "proxy-modes"
    return tuple(listed.read_text().split()) if listed.exists() else MODES


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), request.param)
    try:
        cluster.up("--nodes", "3", "--proxy-mode", cluster.proxy_mode)
        yield cluster
    finally:
        print(cluster.logs())  # noqa: T201  (pytest shows it when something failed)
        cluster.down()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("cluster", MODES, indirect=True, scope="module")
def test_an_example_does_what_it_shows(cluster: Cluster, example: Path) -> None:
    if cluster.proxy_mode not in modes(example):
        pytest.skip("the example is about another proxy mode")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    assert play(example / "README.md", ROOT, cluster.environment | {"PATH": path}) > 0
