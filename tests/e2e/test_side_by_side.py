"""Two clusters on one machine know nothing of one another."""

from __future__ import annotations

from pathlib import Path

from fairway.cluster.record import read_record
from tests.e2e.clusters import Cluster, eventually
from tests.e2e.machine import snapshot

MANIFEST = Path(__file__).parents[2] / "examples" / "01-hostnames" / "hostnames.yaml"


def address(cluster: Cluster) -> str:
    return cluster.kubectl("get", "service", "hostnames", "-o", "jsonpath={.spec.clusterIP}")


def answer(cluster: Cluster, virtual_ip: str) -> str:
    return cluster.run("curl", "-sf", "--max-time", "5", virtual_ip, check=False).stdout.strip()


def pods(cluster: Cluster) -> set[str]:
    path = "jsonpath={range .items[*]}{.metadata.name} {end}"
    return set(cluster.kubectl("get", "pods", "-o", path).split())


def test_each_serves_its_own_and_outlives_the_other(tmp_path: Path) -> None:
    first, second = Cluster(tmp_path / "first"), Cluster(tmp_path / "second")
    before = snapshot(first.data, second.data)
    try:
        for cluster in (first, second):
            cluster.up("--nodes", "1")
            cluster.kubectl("apply", "-f", str(MANIFEST))
        for cluster in (first, second):
            eventually(lambda c=cluster: answer(c, address(c)) in pods(c), "its own Pods answer")
        records = [read_record(cluster.data) for cluster in (first, second)]
        assert records[0]
        assert records[1]
        assert not records[0].layout.service_network.overlaps(records[1].layout.service_network)
        assert records[0].port != records[1].port
        first.down()
        assert answer(second, address(second)) in pods(second)
    finally:
        first.down()
        second.down()
    after = snapshot(first.data, second.data)
    for name in before:
        assert not after[name] - before[name], f"{name} left behind"
