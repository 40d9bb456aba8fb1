"""Every example does what its README shows, on a cluster of three nodes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clusters import Cluster
from tests.e2e.console import play

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/README.md"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.up("--nodes", "3")
        yield cluster
    finally:
        print(cluster.logs())  # noqa: T201  (pytest shows it when something failed)
        cluster.down()


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_does_what_it_shows(cluster: Cluster, example: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    assert play(ROOT / "examples" / example / "README.md", ROOT, cluster.environment | {"PATH": path}) > 0
