"""The proxy as its own process on two nodes, fed by a real API server, measured by real connections."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from fairway.api.resources import NODES
from fairway.client import NotFound

from .proxy_cluster import TARGET, Cluster, eventually
from .topology import SILENCE, connect, network, tcp, udp


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with network() as net:
        for _ in range(2):
            node = net.add_node()
            net.add_pod(node, f"web-{node.number}", TARGET)
        built = Cluster(net, tmp_path_factory.mktemp("cluster"))
        yield built
        built.close()


def name(answer: str) -> str:
    return answer.split()[0]


def test_a_new_service_is_served_on_every_node(cluster: Cluster) -> None:
    first, second = (node.pods[0] for node in cluster.net.nodes)
    cluster.service("a", "10.96.0.21")
    cluster.endpoints("a", [second])
    for where in (first.namespace, second.namespace, cluster.net.client):
        eventually(lambda where=where: name(tcp(where, "10.96.0.21", 80)) == "web-2")


def test_the_servers_own_service_range_is_refused_where_no_service_is(cluster: Cluster) -> None:
    pod = cluster.net.nodes[1].pods[0].namespace

    def refused() -> bool:
        with pytest.raises(ConnectionRefusedError):
            tcp(pod, "10.96.200.200", 80)
        return True

    eventually(refused)


def test_published_progress_means_that_the_change_is_in_force(cluster: Cluster) -> None:
    first, second = (node.pods[0] for node in cluster.net.nodes)
    cluster.service("b", "10.96.0.22")
    for pod in (first, second) * 5:
        revision = cluster.endpoints("b", [pod])
        for node in cluster.net.nodes:
            eventually(lambda node=node, goal=revision: cluster.progress(node.name) >= goal)
            assert name(tcp(node.pods[0].namespace, "10.96.0.22", 80)) == pod.name


def test_rules_that_someone_flushes_are_put_back(cluster: Cluster) -> None:
    node = cluster.net.nodes[0]
    cluster.service("c", "10.96.0.23")
    cluster.endpoints("c", [node.pods[0]])
    eventually(lambda: tcp(node.namespace, "10.96.0.23", 80))
    for damage in (
        ["flush", "ruleset"],
        ["delete", "table", "ip", "fairway-proxy"],
        ["flush", "map", "ip", "fairway-proxy", "services"],
        ["flush", "chain", "ip", "fairway-proxy", "services"],
        ["add", "rule", "ip", "fairway-proxy", "refuse", "counter"],
        ["flush", "set", "ip", "fairway-proxy", "service-ranges"],
    ):
        before = node.namespace.command("nft", "-s", "list", "table", "ip", "fairway-proxy")
        node.namespace.command("nft", *damage)
        eventually(
            lambda before=before: (
                sorted(node.namespace.command("nft", "-s", "list", "table", "ip", "fairway-proxy").split())
                == sorted(before.split())
            )
        )
        assert name(tcp(node.namespace, "10.96.0.23", 80)) == "web-1"


def test_tables_of_others_are_left_alone(cluster: Cluster) -> None:
    node = cluster.net.nodes[1]
    node.namespace.command("nft", "add", "table", "ip", "somebody")
    proxy = cluster.proxies[1]
    proxy.kill()
    proxy.start()
    cluster.service("d", "10.96.0.24")
    cluster.endpoints("d", [node.pods[0]])
    eventually(lambda: tcp(node.namespace, "10.96.0.24", 80))
    assert "table ip somebody" in node.namespace.command("nft", "list", "tables")


def test_connections_survive_the_killing_of_the_proxy_and_changes_made_meanwhile_are_caught_up_with(
    cluster: Cluster,
) -> None:
    first, second = (node.pods[0] for node in cluster.net.nodes)
    cluster.service("e", "10.96.0.25")
    cluster.endpoints("e", [first])
    eventually(lambda: name(tcp(cluster.net.client, "10.96.0.25", 80)) == "web-1")
    with connect(cluster.net.client, "10.96.0.25", 80) as connection:
        assert connection.recv(100)
        cluster.proxies[0].kill()
        assert name(tcp(cluster.net.client, "10.96.0.25", 80)) == "web-1"
        cluster.endpoints("e", [second])
        cluster.proxies[0].start()
        eventually(lambda: name(tcp(cluster.net.client, "10.96.0.25", 80)) == "web-2")
        connection.sendall(b"still there")
        assert connection.recv(100) == b"still there"


def test_udp_flows_follow_the_endpoints(cluster: Cluster) -> None:
    first, second = (node.pods[0] for node in cluster.net.nodes)
    cluster.service("f", "10.96.0.26", "UDP")
    cluster.endpoints("f", [first], "UDP")
    eventually(lambda: name(udp(first.namespace, "10.96.0.26", 80, SILENCE)) == "web-1")
    cluster.endpoints("f", [second], "UDP")
    eventually(lambda: name(udp(first.namespace, "10.96.0.26", 80, SILENCE)) == "web-2")


def test_a_zone_that_a_node_gets_later_is_honoured(cluster: Cluster) -> None:
    first, second = (node.pods[0] for node in cluster.net.nodes)
    cluster.service("g", "10.96.0.27")
    cluster.endpoints("g", [first, second], zones={"web-1": "east", "web-2": "west"})
    where = cluster.net.nodes[0].namespace
    eventually(lambda: len({name(tcp(where, "10.96.0.27", 80)) for _ in range(20)}) == 2)
    cluster.put(NODES, {"metadata": {"name": "node-1", "labels": {"topology.kubernetes.io/zone": "west"}}})
    eventually(lambda: {name(tcp(where, "10.96.0.27", 80)) for _ in range(20)} == {"web-2"})


def test_everything_goes_on_while_the_api_server_is_away(cluster: Cluster) -> None:
    first, second = (node.pods[0] for node in cluster.net.nodes)
    cluster.service("h", "10.96.0.28")
    cluster.endpoints("h", [first])
    eventually(lambda: tcp(cluster.net.client, "10.96.0.28", 80))
    cluster.apiserver.kill()
    for _ in range(10):
        assert name(tcp(cluster.net.client, "10.96.0.28", 80)) == "web-1"
    cluster.apiserver.start()
    eventually(lambda: cluster.endpoints("h", [second]))
    eventually(lambda: name(tcp(cluster.net.client, "10.96.0.28", 80)) == "web-2")


def test_the_lease_is_taken_away_when_the_proxy_ends_in_order(cluster: Cluster) -> None:
    proxy = cluster.proxies[1]
    eventually(lambda: cluster.progress("node-2"))
    proxy.kill(signal.SIGTERM)
    with pytest.raises(NotFound):
        cluster.progress("node-2")
    proxy.start()
    eventually(lambda: cluster.progress("node-2"))
