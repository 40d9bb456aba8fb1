"""kill -9 anything at any time, and it converges; no Pod restarts because something else died."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairway.cluster.record import read_record
from tests.e2e.clusters import Cluster, eventually
from tests.e2e.machine import snapshot

MANIFEST = Path(__file__).parents[2] / "examples" / "01-hostnames" / "hostnames.yaml"


@pytest.fixture(scope="module")
def serving(cluster: Cluster) -> Iterator[Cluster]:
    cluster.kubectl("apply", "-f", str(MANIFEST))
    cluster.kubectl("wait", "--for=condition=Available", "deployment/hostnames", "--timeout=60s")
    eventually(lambda: ready_replicas(cluster) == "3", "three replicas")
    return cluster


def ready_replicas(cluster: Cluster) -> str:
    path = "jsonpath={.status.readyReplicas}"
    return cluster.run("kubectl", "get", "deployment", "hostnames", "-o", path, check=False).stdout


def answers(cluster: Cluster, virtual_ip: str) -> bool:
    return cluster.run("curl", "-sf", "--max-time", "5", virtual_ip, check=False).returncode == 0


def virtual_ip(cluster: Cluster) -> str:
    return cluster.kubectl("get", "service", "hostnames", "-o", "jsonpath={.spec.clusterIP}")


def restarts(cluster: Cluster) -> set[str]:
    path = "jsonpath={range .items[*]}{.metadata.name}={.status.containerStatuses[0].containerID} {end}"
    return set(cluster.kubectl("get", "pods", "-l", "app=hostnames", "-o", path).split())


def supervisor(cluster: Cluster) -> int:
    record = read_record(cluster.data)
    assert record
    return record.pid


def children(pid: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_every_component_is_started_again_and_no_pod_notices(serving: Cluster) -> None:
    before, address = restarts(serving), virtual_ip(serving)
    for child in children(supervisor(serving)):
        os.kill(child, signal.SIGKILL)
        assert answers(serving, address), "the virtual IP answers while a component is down"
    eventually(lambda: ready_replicas(serving) == "3", "the API server answers again")
    serving.kubectl("scale", "deployment", "hostnames", "--replicas=4")
    eventually(lambda: ready_replicas(serving) == "4", "the components work again")
    serving.kubectl("scale", "deployment", "hostnames", "--replicas=3")
    eventually(lambda: len(restarts(serving)) == 3, "three Pods again")
    assert len(restarts(serving) & before) >= 2


def listener(cluster: Cluster, kind: str, port: int) -> int:
    """The child that listens on a port, over TCP (`t`) or UDP (`u`)."""
    shown = cluster.run("ss", "-Hnlp" + kind, f"sport = :{port}").stdout
    ours = set(children(supervisor(cluster)))
    return next(pid for pid in map(int, re.findall(r"pid=(\d+)", shown)) if pid in ours)


def resolved(cluster: Cluster, name: str) -> str:
    return cluster.run("dig", "+short", "+tries=1", "@10.96.0.10", name, check=False).stdout.strip()


def test_names_are_answered_after_a_restart_while_the_api_server_hangs(serving: Cluster) -> None:
    address, kept = virtual_ip(serving), serving.data / "dns" / "dns-0.snapshot"
    eventually(lambda: b"default/hostnames" in kept.read_bytes(), "the Service is in the snapshot")
    record = read_record(serving.data)
    assert record
    api = listener(serving, "t", record.port)
    os.kill(api, signal.SIGSTOP)
    try:
        os.kill(listener(serving, "u", 53), signal.SIGKILL)
        name = "hostnames.default.svc.cluster.local"
        eventually(lambda: resolved(serving, name) == address, "the name is answered from the snapshot")
    finally:
        os.kill(api, signal.SIGCONT)


def test_after_the_supervisor_was_killed_the_pods_go_on_and_up_finds_them(serving: Cluster) -> None:
    before, address = restarts(serving), virtual_ip(serving)
    os.kill(supervisor(serving), signal.SIGKILL)
    assert answers(serving, address)
    time.sleep(0.5)
    serving.up("--nodes", "2")
    eventually(lambda: ready_replicas(serving) == "3", "three replicas")
    assert restarts(serving) == before
    assert answers(serving, address)


def test_down_cleans_up_after_a_supervisor_that_was_killed(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "data")
    before = snapshot(cluster.data)
    cluster.up("--nodes", "1")
    try:
        cluster.kubectl("apply", "-f", str(MANIFEST))
        eventually(lambda: ready_replicas(cluster) == "3", "three replicas")
        os.kill(supervisor(cluster), signal.SIGKILL)
    finally:
        cluster.down()
    after = snapshot(cluster.data)
    for name in before:
        assert not after[name] - before[name], f"{name} left behind"
