"""`fairway down` leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.clusters import Cluster, eventually
from tests.e2e.machine import snapshot

MANIFEST = Path(__file__).parents[2] / "examples" / "01-hostnames" / "hostnames.yaml"


def test_down_leaves_no_link_route_rule_namespace_mount_cgroup_or_process(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "data")
    before = snapshot(cluster.data)
    cluster.up("--nodes", "2")
    try:
        cluster.kubectl("apply", "-f", str(MANIFEST))
        eventually(
            lambda: (
                cluster.kubectl("get", "deployment", "hostnames", "-o", "jsonpath={.status.readyReplicas}")
                == "3"
            ),
            "three Pods run",
        )
        during = snapshot(cluster.data)
        for name in ("links", "routes", "rules", "namespaces", "mounts", "cgroups", "processes"):
            assert during[name] - before[name], f"the test would not notice {name} left behind"
    finally:
        cluster.down()
    after = snapshot(cluster.data)
    for name in before:
        assert not after[name] - before[name], f"{name} left behind"


def test_a_second_up_finds_the_first(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "data")
    cluster.up("--nodes", "1")
    try:
        assert "already up" in cluster.up("--nodes", "1")
    finally:
        cluster.down()


def test_down_without_a_cluster_says_so(tmp_path: Path) -> None:
    assert "no cluster" in Cluster(tmp_path / "data").down()
