"""Whole clusters on the real kernel; they need root."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.e2e.clusters import Cluster


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.geteuid() != 0:
        for item in items:
            item.add_marker(pytest.mark.skip(reason="needs root"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes, up for all tests of a file."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.up("--nodes", "2")
        yield cluster
    finally:
        print(cluster.logs())  # noqa: T201  (pytest shows it when something failed)
        cluster.down()
