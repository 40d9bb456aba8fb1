"""What a running proxy shows of itself, asked over HTTP from where load balancers and people ask."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.api.resources import ENDPOINT_SLICES, NODES, SERVICES
from fairway.client import Client

from .proxy_cluster import TARGET, Cluster, Process, eventually, get
from .topology import Namespace, connect, network, tcp

HEALTHZ, METRICS = 10256, 10249


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with network() as net:
        for _ in range(2):
            node = net.add_node()
            net.add_pod(node, f"web-{node.number}", TARGET)
        folder = tmp_path_factory.mktemp("cluster")
        built = Cluster(net, folder, "--nodeport-addresses", "172.30.96.0/24")
        for node in net.nodes:
            eventually(lambda node=node: metric(node.namespace, "fairway_proxy_services") >= 1)
        yield built
        built.close()


def metric(where: Namespace, name: str, **labels: str) -> float:
    """The value of the first line of the metric that has the labels."""
    _, _, page = get(where, "127.0.0.1", METRICS, "/metrics")
    for line in page.splitlines():
        if re.match(rf"{name}[ {{]", line) and all(f'{k}="{v}"' in line for k, v in labels.items()):
            return float(line.rpartition(" ")[2])
    raise AssertionError(f"no {name} {labels} in\n{page}")


def publish(cluster: Cluster, name: str, ip: str, on: list[int], **spec: Any) -> None:
    """A Service with the Pods of the nodes with these numbers."""
    cluster.service(name, ip, **spec)
    pods = [(node.pods[0], node.name) for node in cluster.net.nodes if node.number in on]
    meta = {"name": f"{name}-1", "namespace": "default", "labels": {"kubernetes.io/service-name": name}}
    entries = [
        {"addresses": [pod.ip], "nodeName": where, "conditions": {"ready": True}} for pod, where in pods
    ]
    ports = [{"name": "", "port": TARGET, "protocol": "TCP"}]
    body = {"metadata": meta, "addressType": "IPv4", "endpoints": entries, "ports": ports}
    cluster.put(ENDPOINT_SLICES, body)


def test_everyone_may_ask_for_health_and_only_the_node_for_details(cluster: Cluster) -> None:
    node = cluster.net.nodes[0]
    for path in ("/healthz", "/livez"):
        status, headers, body = get(cluster.net.client, node.ip, HEALTHZ, path)
        assert status == 200
        assert headers["X-Content-Type-Options"] == "nosniff"
        told = json.loads(body)
        assert told["healthy"] is True
        assert {"lastUpdated", "currentTime"} <= set(told)
        assert ("nodeEligible" in told) == (path == "/healthz")
    with pytest.raises(ConnectionRefusedError):
        connect(cluster.net.client, node.ip, METRICS)


def test_the_details_are_those_of_kube_proxy(cluster: Cluster) -> None:
    where = cluster.net.nodes[0].namespace
    assert get(where, "127.0.0.1", METRICS, "/healthz")[::2] == (200, "ok")
    assert get(where, "127.0.0.1", METRICS, "/proxyMode")[::2] == (200, "nftables")
    assert get(where, "127.0.0.1", METRICS, "/nothing")[0] == 404
    config = json.loads(get(where, "127.0.0.1", METRICS, "/configz")[2])["kubeproxy.config.k8s.io"]
    assert (config["mode"], config["clusterCIDR"]) == ("nftables", "10.244.0.0/16")
    assert config["nodePortAddresses"] == ["172.30.96.0/24"]


def test_a_node_that_is_about_to_go_is_not_healthy_but_alive(cluster: Cluster) -> None:
    node = cluster.net.nodes[1]
    taint = {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}

    def status(path: str) -> int:
        return get(cluster.net.client, node.ip, HEALTHZ, path)[0]

    cluster.put(NODES, {"metadata": {"name": node.name}, "spec": {"taints": [taint]}})
    eventually(lambda: status("/healthz") == 503)
    assert status("/livez") == 200
    cluster.put(NODES, {"metadata": {"name": node.name}, "spec": {"taints": []}})
    eventually(lambda: status("/healthz") == 200)


def test_changes_and_the_time_they_take_are_measured(cluster: Cluster) -> None:
    where = cluster.net.nodes[0].namespace
    changes = "kubeproxy_sync_proxy_rules_service_changes_total"
    partial = "kubeproxy_sync_partial_proxy_rules_duration_seconds_count"
    before = metric(where, changes), metric(where, partial)
    cluster.service("measured", "10.96.0.40")
    eventually(lambda: metric(where, changes) > before[0] and metric(where, partial) > before[1])
    assert metric(where, "kubeproxy_sync_proxy_rules_last_timestamp_seconds") > 1e9
    assert metric(where, "process_resident_memory_bytes") > 1e6


def test_a_service_with_policy_local_and_no_endpoint_here_is_counted(cluster: Cluster) -> None:
    name, labels = "kubeproxy_sync_proxy_rules_no_local_endpoints_total", {"traffic_policy": "internal"}
    publish(cluster, "lonely", "10.96.0.41", on=[2], internalTrafficPolicy="Local")
    first, second = (node.namespace for node in cluster.net.nodes)
    eventually(lambda: metric(first, name, ip_family="IPv4", **labels) == 1)
    assert metric(second, name, ip_family="IPv4", **labels) == 0


def test_what_is_programmed_for_a_service_can_be_read_with_its_connections(cluster: Cluster) -> None:
    node = cluster.net.nodes[0]
    publish(cluster, "shown", "10.96.0.42", on=[1, 2], type="NodePort")

    def page() -> str:
        return get(node.namespace, "127.0.0.1", METRICS, "/rules?service=default/shown")[2]

    eventually(lambda: "endpoints: 2" in page())
    assert "cluster IP 10.96.0.42:80" in page()
    assert f"{cluster.net.nodes[1].pods[0].ip}:{TARGET} on node-2" in page()
    assert "connections now: 0" in page()
    with connect(cluster.net.client, "10.96.0.42", 80) as connection:
        assert connection.recv(100)
        assert "connections now: 1" in page()
    status, _, text = get(node.namespace, "127.0.0.1", METRICS, "/rules?service=default/nothing")
    assert (status, "nothing is programmed" in text) == (404, True)
    assert get(node.namespace, "127.0.0.1", METRICS, "/rules")[0] == 400


def test_the_connections_of_a_service_are_counted_for_whoever_scrapes(cluster: Cluster) -> None:
    first, second = (node.namespace for node in cluster.net.nodes)
    publish(cluster, "counted", "10.96.0.45", on=[1, 2])
    name = "fairway_proxy_service_connections_total"
    labels = {"namespace": "default", "service": "counted", "port_name": "", "protocol": "TCP"}
    eventually(lambda: tcp(first, "10.96.0.45", 80))
    for _ in range(2):
        tcp(first, "10.96.0.45", 80)
    # Those that were refused while the Service was on its way don't count.
    eventually(lambda: metric(first, name, **labels) == 3)
    publish(cluster, "counted", "10.96.0.45", on=[1])
    tcp(first, "10.96.0.45", 80)
    eventually(lambda: metric(first, name, **labels) == 4)
    assert 'service="counted"' not in get(second, "127.0.0.1", METRICS, "/metrics")[2]


def test_a_health_check_port_opens_and_closes_with_its_service_and_tells_the_local_endpoints(
    cluster: Cluster,
) -> None:
    first, second = cluster.net.nodes
    port = 31999
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": port}
    publish(cluster, "checked", "10.96.0.43", on=[1], **spec)

    def ask(ip: str) -> tuple[int, dict[str, str], str]:
        return get(cluster.net.client, ip, port, "/")

    eventually(lambda: ask(first.ip)[0] == 200)
    eventually(lambda: ask(second.ip)[0] == 503)
    _, headers, body = ask(first.ip)
    assert json.loads(body) == {
        "service": {"namespace": "default", "name": "checked"},
        "localEndpoints": 1,
        "serviceProxyHealthy": True,
    }
    assert headers["X-Load-Balancing-Endpoint-Weight"] == "1"
    # Only where node ports are served.
    with pytest.raises(ConnectionRefusedError):
        ask("10.244.1.1")
    publish(cluster, "checked", "10.96.0.43", on=[1, 2], **spec)
    eventually(lambda: ask(second.ip)[0] == 200)

    async def delete(client: Client) -> None:
        await client.delete(SERVICES, "checked", namespace="default")

    cluster.call(delete)
    for node in cluster.net.nodes:
        eventually(lambda node=node: _is_refused(cluster.net.client, node.ip, port))


def _is_refused(where: Namespace, ip: str, port: int) -> bool:
    try:
        connect(where, ip, port).close()
    except ConnectionRefusedError:
        return True
    return False


def test_what_others_flush_is_put_back_and_counted(cluster: Cluster) -> None:
    node = cluster.net.nodes[0]
    publish(cluster, "steady", "10.96.0.44", on=[1])
    eventually(lambda: tcp(node.namespace, "10.96.0.44", 80))
    before = metric(node.namespace, "fairway_proxy_drift_repairs_total")
    node.namespace.command("nft", "flush", "ruleset")
    eventually(lambda: metric(node.namespace, "fairway_proxy_drift_repairs_total") == before + 1)
    eventually(lambda: tcp(node.namespace, "10.96.0.44", 80))


def test_a_file_configures_the_proxy_and_a_port_that_is_taken_is_fatal_if_that_is_asked_for(
    cluster: Cluster, tmp_path: Path
) -> None:
    file, log = tmp_path / "config.yaml", tmp_path / "log"
    file.write_text(
        "apiVersion: kubeproxy.config.k8s.io/v1alpha1\n"
        "kind: KubeProxyConfiguration\n"
        f"clientConnection: {{kubeconfig: {cluster.kubeconfig}}}\n"
        "hostnameOverride: node-2\n"
        "bindAddressHardFail: true\n"
        "clusterCIDR: 10.244.0.0/16\n"
    )
    second = Process(cluster.net.nodes[1].namespace, log, "proxy", "--config", str(file))
    assert second.wait() == 1
    assert "healthz can't be served on 0.0.0.0:10256" in log.read_text()
    assert "choose another address" in log.read_text()
