"""No request through a Service fails while Pods are replaced, nor while anything of the system dies."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from fairway.cluster.record import read_record
from tests.e2e.clusters import Cluster, eventually
from tests.e2e.traffic import Traffic

# Nothing in it helps the system: no preStop hook, no pause, the default strategy.
MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: main
          image: k8s.gcr.io/serve_hostname
          readinessProbe: {httpGet: {path: /, port: 9376}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 9376}]
"""


@pytest.fixture(scope="module")
def address(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    manifest = tmp_path_factory.mktemp("manifest") / "web.yaml"
    manifest.write_text(MANIFEST)
    cluster.kubectl("apply", "-f", str(manifest))
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=90s")
    virtual_ip = cluster.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
    eventually(
        lambda: cluster.run("curl", "-sf", "--max-time", "5", virtual_ip, check=False).returncode == 0,
        "the Service answers",
    )
    return virtual_ip


def pods(cluster: Cluster) -> set[str]:
    path = "jsonpath={range .items[*]}{.metadata.name} {end}"
    return set(cluster.kubectl("get", "pods", "-l", "app=web", "-o", path).split())


def ready_replicas(cluster: Cluster) -> str:
    path = "jsonpath={.status.readyReplicas}"
    return cluster.run("kubectl", "get", "deployment", "web", "-o", path, check=False).stdout


def supervisor(cluster: Cluster) -> int:
    record = read_record(cluster.data)
    assert record
    return record.pid


def components(cluster: Cluster) -> list[int]:
    pid = supervisor(cluster)
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def reapers(cluster: Cluster) -> list[int]:
    files = (cluster.data / "nodes").glob("*/runtime/reaper.json")
    return [int(file.read_text().split(":")[1].strip(" }\n")) for file in files]


def test_a_rolling_update_loses_no_request(cluster: Cluster, address: str) -> None:
    with Traffic(address) as traffic:
        traffic.flows()
        for revision in ("one", "two"):
            before = pods(cluster)
            cluster.kubectl("set", "env", "deployment/web", f"REVISION={revision}")
            cluster.kubectl("rollout", "status", "deployment/web", "--timeout=120s")
            eventually(lambda before=before: not pods(cluster) & before, "the old Pods are gone")
        traffic.flows()
    assert traffic.failures == []
    assert len(traffic.answers) >= 12, "Pods of before and after have answered"


def test_scaling_down_and_up_loses_no_request(cluster: Cluster, address: str) -> None:
    with Traffic(address) as traffic:
        for replicas in (2, 6):
            cluster.kubectl("scale", "deployment", "web", f"--replicas={replicas}")
            eventually(lambda count=replicas: len(pods(cluster)) == count, f"{replicas} Pods")
            eventually(lambda count=replicas: ready_replicas(cluster) == str(count), "all ready")
        traffic.flows()
    assert traffic.failures == []


def test_no_request_fails_while_every_component_is_killed_in_turn(cluster: Cluster, address: str) -> None:
    before = pods(cluster)
    with Traffic(address) as traffic:
        traffic.flows()
        for pid in [*components(cluster), *reapers(cluster)]:
            os.kill(pid, signal.SIGKILL)
            traffic.flows()
        eventually(lambda: ready_replicas(cluster) == "6", "the API server answers again")
        traffic.flows()
        os.kill(supervisor(cluster), signal.SIGKILL)
        traffic.flows()
        cluster.up("--nodes", "2")
        eventually(lambda: ready_replicas(cluster) == "6", "all is up again")
        traffic.flows()
    assert traffic.failures == []
    assert pods(cluster) == before, "no Pod was replaced"


def test_every_node_keeps_its_way_out_and_its_ways_to_the_others(cluster: Cluster, address: str) -> None:
    record = read_record(cluster.data)
    assert record
    layout = record.layout
    for node in layout.nodes:
        routes = cluster.run("ip", "-n", node.namespace, "route").stdout
        assert f"default via {layout.host_address}" in routes
        for other in layout.nodes:
            if other != node:
                assert f"{other.pod_network} via {other.address}" in routes


def test_after_all_that_the_system_follows_changes(cluster: Cluster, address: str) -> None:
    gone = sorted(pods(cluster))[0]
    with Traffic(address) as traffic:
        cluster.kubectl("delete", "pod", gone)
        eventually(lambda: gone not in pods(cluster) and ready_replicas(cluster) == "6", "it is replaced")
        traffic.flows()
    assert traffic.failures == []


@pytest.mark.skipif(subprocess.run(["which", "wrk"], capture_output=True).returncode != 0, reason="needs wrk")
def test_a_rolling_update_under_wrk_has_no_socket_error(cluster: Cluster, address: str) -> None:
    load = subprocess.Popen(
        ["wrk", "-t1", "-c8", "-d12s", f"http://{address}/"], stdout=subprocess.PIPE, text=True
    )
    cluster.kubectl("set", "env", "deployment/web", "REVISION=three")
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=120s")
    report, _ = load.communicate(timeout=60)
    assert "Requests/sec" in report
    assert "Socket errors" not in report, report
    assert "Non-2xx" not in report, report
