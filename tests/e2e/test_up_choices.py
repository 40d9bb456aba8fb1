"""What `fairway up` is asked for: another store, a mode that the kernel lacks, a store there is none of."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairway.proxy.modes import ModeUnavailable, check_mode
from tests.e2e.clusters import FAIRWAY, Cluster
from tests.e2e.machine import snapshot
from tests.unit.storage.etcd_process import etcd


def test_a_cluster_keeps_its_objects_in_etcd(tmp_path: Path) -> None:
    with etcd() as address:
        first, second = Cluster(tmp_path / "first"), Cluster(tmp_path / "second")
        try:
            first.up("--store", f"etcd://{address}")
            first.kubectl("create", "configmap", "kept", "--from-literal=a=b")
            first.down()
            second.up("--store", f"etcd://{address}")
            assert second.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}") == "b"
        finally:
            first.down()
            second.down()


def test_a_store_that_there_is_none_of_is_refused_with_those_there_are(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "data")
    done = cluster.run(FAIRWAY, "up", "--data", str(cluster.data), "--store", "postgres://db", check=False)
    assert done.returncode == 2
    assert "write sqlite:///path, etcd://host:2379" in done.stderr


def test_a_mode_that_the_kernel_lacks_is_refused_before_anything_is_begun(tmp_path: Path) -> None:
    try:
        check_mode("ipvs")
    except ModeUnavailable as error:
        lacking = str(error)
    else:
        pytest.skip("this kernel has IPVS")
    cluster = Cluster(tmp_path / "data")
    before = snapshot(cluster.data)
    done = cluster.run(FAIRWAY, "up", "--data", str(cluster.data), "--proxy-mode", "ipvs", check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == f"Error: {lacking}"
    assert not cluster.data.exists()
    assert snapshot(cluster.data) == before
