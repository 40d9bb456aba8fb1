"""`fairway up --proxy-mode`: a whole cluster on each of the modes that this machine's kernel can do."""

from __future__ import annotations

import contextlib
import json
from glob import glob
from pathlib import Path

import pytest

from fairway.cluster.record import read_record
from fairway.proxy.modes import MODES

from .clusters import Cluster, eventually

USABLE = [mode for mode in MODES if mode != "ipvs" or Path("/proc/net/ip_vs").exists()]


@pytest.mark.parametrize("mode", USABLE)
def test_every_node_runs_the_mode_that_was_asked_for_and_serves_virtual_ips(
    tmp_path: Path, mode: str
) -> None:
    cluster = Cluster(tmp_path)
    cluster.up("--nodes", "2", "--proxy-mode", mode)
    try:
        columns = "jsonpath={.items[*].status.addresses[?(@.type=='InternalIP')].address}"
        addresses = cluster.kubectl("get", "nodes", "-o", columns).split()
        assert len(addresses) == 2
        for node in addresses:
            told = json.loads(cluster.run("curl", "-s", f"http://{node}:10256/healthz").stdout)
            assert told["nodeEligible"]
        for log in (tmp_path / "logs").glob("node-*.log"):
            assert f"event=programmed mode={mode} " in log.read_text()
        ip = cluster.kubectl("get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}")
        eventually(lambda: "gitVersion" in version(cluster, ip), "the API server's virtual IP answers")
    finally:
        record = read_record(tmp_path)
        nodes = inodes(f"/var/run/netns/{record.layout.name}-*") if record else {}
        cluster.down()
    left = [name for name, inode in inodes("/proc/[0-9]*/ns/net").items() if inode in nodes.values()]
    assert left == []


def inodes(pattern: str) -> dict[str, int]:
    """Which network namespaces there are, or which ones processes are in."""
    found = {}
    for name in glob(pattern):
        with contextlib.suppress(OSError):
            found[name] = Path(name).stat().st_ino
    return found


def version(cluster: Cluster, ip: str) -> str:
    return cluster.run("curl", "-sk", "--max-time", "5", f"https://{ip}/version", check=False).stdout
