"""Story 1: three Pods behind one Service, with kubectl and real packets."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.clusters import FAIRWAY, Cluster, eventually

MANIFEST = Path(__file__).parents[2] / "examples" / "01-hostnames" / "hostnames.yaml"


def addresses(cluster: Cluster) -> list[str]:
    text = cluster.kubectl("get", "endpoints", "hostnames", "-o", "jsonpath={.subsets[*].addresses[*].ip}")
    return sorted(text.split())


def pods(cluster: Cluster) -> list[str]:
    return cluster.kubectl(
        "get", "pods", "-l", "app=hostnames", "-o", "jsonpath={.items[*].metadata.name}"
    ).split()


@pytest.fixture(scope="module")
def hostnames(cluster: Cluster) -> Cluster:
    cluster.kubectl("apply", "-f", str(MANIFEST))
    eventually(lambda: len(addresses(cluster)) == 3, "three endpoints")
    return cluster


@pytest.fixture
def virtual_ip(hostnames: Cluster) -> str:
    return hostnames.kubectl("get", "service", "hostnames", "-o", "jsonpath={.spec.clusterIP}")


def answers(virtual_ip: str, cluster: Cluster, count: int) -> Counter[str]:
    """Who answered `count` requests, each over a connection of its own."""
    loop = f"for i in $(seq {count}); do curl --silent --fail --max-time 5 http://{virtual_ip}/; echo; done"
    return Counter(cluster.run("sh", "-c", loop).stdout.split())


def test_the_pods_run_spread_over_the_nodes(hostnames: Cluster) -> None:
    nodes = hostnames.kubectl(
        "get", "pods", "-l", "app=hostnames", "-o", "jsonpath={.items[*].spec.nodeName}"
    ).split()
    assert len(nodes) == 3
    assert set(nodes) == {"node-1", "node-2"}


def test_kubectl_lists_the_endpoints_and_the_virtual_ip(hostnames: Cluster, virtual_ip: str) -> None:
    printed = hostnames.kubectl("get", "endpoints", "hostnames", "--no-headers").split()
    assert sorted(printed[1].split(",")) == [f"{address}:9376" for address in addresses(hostnames)]
    assert virtual_ip.startswith("10.")
    assert "ClusterIP" in hostnames.kubectl("get", "service", "hostnames")


def test_the_virtual_ip_answers_from_every_pod_from_the_hosts_shell(
    hostnames: Cluster, virtual_ip: str
) -> None:
    assert set(answers(virtual_ip, hostnames, 60)) == set(pods(hostnames))


def test_the_virtual_ip_answers_from_every_pod_from_inside_a_pod(hostnames: Cluster, virtual_ip: str) -> None:
    """Sixty tries also meet the Pod itself through its own Service."""
    loop = f"for i in $(seq 60); do wget -qO- http://{virtual_ip}/; echo; done"
    reached = set(hostnames.exec(pods(hostnames)[0], "sh", "-c", loop).split())
    assert reached == set(pods(hostnames))


def test_the_name_resolves_in_a_pod_in_all_its_forms(hostnames: Cluster, virtual_ip: str) -> None:
    pod = pods(hostnames)[0]
    for name in ("hostnames", "hostnames.default", "hostnames.default.svc.cluster.local"):
        assert hostnames.exec(pod, "wget", "-qO-", f"http://{name}").strip() in pods(hostnames)
    assert virtual_ip in hostnames.exec(pod, "nslookup", "hostnames.default.svc.cluster.local")


def test_dig_from_the_host_gets_address_and_port(hostnames: Cluster, virtual_ip: str) -> None:
    server = hostnames.kubectl(
        "get", "service", "kube-dns", "-n", "kube-system", "-o", "jsonpath={.spec.clusterIP}"
    )
    name = "hostnames.default.svc.cluster.local"
    for transport in ("+notcp", "+tcp"):
        assert hostnames.run("dig", f"@{server}", transport, "+short", name).stdout.strip() == virtual_ip
    port = hostnames.run("dig", f"@{server}", "+short", "SRV", f"_default._tcp.{name}").stdout
    assert port.split()[2:] == ["80", f"{name}."]


def test_a_pod_sees_its_services_in_its_environment_and_its_own_name(hostnames: Cluster) -> None:
    pod = pods(hostnames)[0]
    assert hostnames.exec(pod, "hostname").strip() == pod
    environment = hostnames.exec(pod, "env")
    assert "KUBERNETES_SERVICE_HOST=10." in environment


def test_a_command_in_a_pod_keeps_its_exit_code_and_streams_apart(hostnames: Cluster) -> None:
    done = hostnames.run(
        FAIRWAY,
        "exec",
        pods(hostnames)[0],
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2; exit 7",
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 7)


def test_a_pod_that_fails_its_probe_leaves_the_endpoints_and_comes_back(
    hostnames: Cluster, virtual_ip: str
) -> None:
    pod = pods(hostnames)[0]
    hostnames.exec(pod, "touch", "/tmp/not-ready")
    eventually(lambda: len(addresses(hostnames)) == 2, "two endpoints")
    eventually(lambda: pod not in answers(virtual_ip, hostnames, 20), "no more traffic to the Pod")
    hostnames.exec(pod, "rm", "/tmp/not-ready")
    eventually(lambda: len(addresses(hostnames)) == 3, "three endpoints again")


def test_a_deleted_pod_is_replaced(hostnames: Cluster, virtual_ip: str) -> None:
    gone = pods(hostnames)[0]
    hostnames.kubectl("delete", "pod", gone)
    eventually(lambda: gone not in pods(hostnames) and len(pods(hostnames)) == 3, "a replacement")
    eventually(lambda: len(addresses(hostnames)) == 3, "three endpoints again")
    assert gone not in answers(virtual_ip, hostnames, 30)


def test_scaling_changes_the_endpoints(hostnames: Cluster) -> None:
    hostnames.kubectl("scale", "deployment", "hostnames", "--replicas=5")
    eventually(lambda: len(addresses(hostnames)) == 5, "five endpoints")
    hostnames.kubectl("scale", "deployment", "hostnames", "--replicas=3")
    eventually(lambda: len(addresses(hostnames)) == 3, "three endpoints")


def test_a_node_port_answers_on_every_node(hostnames: Cluster) -> None:
    hostnames.kubectl("patch", "service", "hostnames", "-p", '{"spec":{"type":"NodePort"}}')
    port = hostnames.kubectl("get", "service", "hostnames", "-o", "jsonpath={.spec.ports[0].nodePort}")
    path = "jsonpath={.items[*].status.addresses[?(@.type=='InternalIP')].address}"
    for node in hostnames.kubectl("get", "nodes", "-o", path).split():
        url = f"http://{node}:{port}/"
        eventually(
            lambda url=url: (
                hostnames.run("curl", "-sf", "--max-time", "5", url, check=False).stdout.strip()  # type: ignore[misc]
                in pods(hostnames)
            ),
            f"{url} answers",
        )


def test_the_api_server_leads_to_service_pod_and_node(hostnames: Cluster) -> None:
    root = "/api/v1/namespaces/default"
    assert hostnames.kubectl("get", "--raw", f"{root}/services/hostnames:default/proxy/") in pods(hostnames)
    pod = pods(hostnames)[0]
    assert hostnames.kubectl("get", "--raw", f"{root}/pods/{pod}/proxy/") == pod
    assert hostnames.kubectl("get", "--raw", "/api/v1/nodes/node-1/proxy/healthz") == "ok"
    refused = hostnames.run("kubectl", "get", "--raw", f"{root}/pods/{pod}:1/proxy/", check=False)
    assert "error trying to reach service" in refused.stderr


def test_kubectl_describes_deployment_pods_and_service(hostnames: Cluster) -> None:
    assert "3 desired | 3 updated | 3 total | 3 available" in hostnames.kubectl(
        "describe", "deployment", "hostnames"
    )
    assert "Ready             True" in hostnames.kubectl("describe", "pod", pods(hostnames)[0])
    assert "Endpoints:" in hostnames.kubectl("describe", "service", "hostnames")


def test_deleting_everything_removes_pods_endpoints_and_name(hostnames: Cluster, virtual_ip: str) -> None:
    hostnames.kubectl("delete", "-f", str(MANIFEST))
    eventually(lambda: not pods(hostnames), "no Pods")
    eventually(
        lambda: (
            not hostnames.kubectl(
                "get", "endpointslices", "-l", "kubernetes.io/service-name=hostnames", "-o", "name"
            )
        ),
        "no slices",
    )
    refused = hostnames.run("curl", "-s", "--max-time", "5", f"http://{virtual_ip}/", check=False)
    assert refused.returncode == 7
