"""The layer 4 and 7 balancer: a real HAProxy on each node, real requests from outside the cluster."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.api.resources import CONFIG_MAPS, NODES, SECRETS
from fairway.apiserver.certificates import Authority

from .lb_cluster import BalancedCluster, WebServer
from .proxy_cluster import TARGET, eventually
from .topology import Namespace, Pod, connect, network, tcp

WEB = 8080
PREFIX = "service.beta.kubernetes.io/aws-load-balancer-"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BalancedCluster]:
    with network() as net:
        servers = []
        for _ in range(2):
            node = net.add_node()
            pod = net.add_pod(node, f"web-{node.number}", TARGET)
            servers.append(WebServer(pod.namespace, WEB))
        folder = tmp_path_factory.mktemp("cluster")
        built = BalancedCluster(net, folder)
        try:
            for node in net.nodes:
                built.put(
                    NODES,
                    {
                        "metadata": {"name": node.name},
                        "spec": {
                            "podCIDR": f"10.244.{node.number}.0/24",
                            "podCIDRs": [f"10.244.{node.number}.0/24"],
                        },
                    },
                )
            yield built
        finally:
            for server in servers:
                server.close()
            built.close()
            for path in folder.glob("*.log"):
                print(f"--- {path.name}\n{path.read_text()[-3000:]}")  # noqa: T201


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.open(tmp_path_factory.mktemp("authority"))


def pods(cluster: BalancedCluster) -> list[Pod]:
    return [node.pods[0] for node in cluster.net.nodes]


def request(connection: socket.socket, **headers: str) -> dict[str, Any]:
    """The headers that the Pod saw."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    connection.sendall(f"GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n{lines}\r\n".encode())
    answer = b""
    while data := connection.recv(65536):
        answer += data
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    seen: dict[str, Any] = json.loads(body)
    return seen


def get(where: Namespace, address: str, **headers: str) -> dict[str, Any]:
    with connect(where, address, 80) as connection:
        return request(connection, **headers)


def secret(cluster: BalancedCluster, authority: Authority, name: str, host: str) -> None:
    pair = authority.issue(host, (), (host,))
    data = {
        "tls.crt": base64.b64encode(pair.certificate).decode(),
        "tls.key": base64.b64encode(pair.key).decode(),
    }
    meta = {"name": name, "namespace": "default"}
    cluster.put(SECRETS, {"metadata": meta, "type": "kubernetes.io/tls", "data": data})


def served_name(where: Namespace, address: str, port: int = 443) -> str:
    """The common name of the certificate that is presented."""
    from cryptography import x509

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(connect(where, address, port)) as wrapped:
        encoded = wrapped.getpeercert(binary_form=True)
    assert encoded
    name = x509.load_der_x509_certificate(encoded).subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(name[0].value)


def test_with_http_the_pod_sees_the_client_in_a_header_and_no_forged_one(cluster: BalancedCluster) -> None:
    address = cluster.publish("http", pods(cluster), {PREFIX + "backend-protocol": "http"}, WEB)
    eventually(lambda: get(cluster.net.client, address), within=30)
    seen = get(cluster.net.client, address, X_Forwarded_For="6.6.6.6")
    assert seen["x-forwarded-for"] == cluster.net.client_ip
    assert seen["x-forwarded-proto"] == "http"


def test_with_tcp_not_a_byte_is_changed(cluster: BalancedCluster) -> None:
    address = cluster.publish("bytes", pods(cluster), {PREFIX + "backend-protocol": "tcp"})
    eventually(lambda: tcp(cluster.net.client, address, 80), within=30)
    sent = os.urandom(64) + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + os.urandom(200_000)
    with connect(cluster.net.client, address, 80) as connection:
        received = connection.recv(4096)
        greeting, _, received = received.partition(b"\n")
        assert greeting.startswith(b"web-")
        for start in range(0, len(sent), 8192):
            chunk = sent[start : start + 8192]
            connection.sendall(chunk)
            while len(received) < start + len(chunk):
                received += connection.recv(65536)
    assert received == sent


def test_proxy_protocol_tells_the_pod_client_and_address(cluster: BalancedCluster) -> None:
    address = cluster.publish("told", pods(cluster), {PREFIX + "proxy-protocol": "*"})
    eventually(lambda: tcp(cluster.net.client, address, 80), within=30)
    with connect(cluster.net.client, address, 80) as connection:
        received = b""
        while received.count(b"\n") < 2:
            received += connection.recv(4096)
    line = received.split(b"\n")[1].decode().split()
    assert line[:4] == ["PROXY", "TCP4", cluster.net.client_ip, address]
    assert line[5] == "80"


def test_https_outside_is_http_inside_with_the_certificate_that_was_named(
    cluster: BalancedCluster, authority: Authority
) -> None:
    annotations = {
        PREFIX + "backend-protocol": "http",
        PREFIX + "ssl-cert": "arn:aws:acm:eu-west-1:123456789012:certificate/shop",
        PREFIX + "ssl-ports": "443",
    }
    ports = [
        {"name": "plain", "port": 80, "targetPort": WEB},
        {"name": "tls", "port": 443, "targetPort": WEB},
    ]
    address = cluster.publish("shop", [], annotations, WEB, ports=ports)
    _named_endpoints(cluster, "shop")
    eventually(lambda: cluster.events("CertificateMissing"), within=30)
    secret(cluster, authority, "shop", "shop.example.com")
    client = cluster.net.client
    eventually(lambda: served_name(client, address) == "shop.example.com", within=30)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(connect(client, address, 443)) as connection:
        seen = request(connection)
    assert (seen["x-forwarded-for"], seen["x-forwarded-proto"]) == (cluster.net.client_ip, "https")
    assert get(client, address)["x-forwarded-proto"] == "http"
    with connect(client, address, 80) as held:
        secret(cluster, authority, "shop", "renewed.example.com")
        eventually(lambda: served_name(client, address) == "renewed.example.com", within=30)
        assert request(held)["x-forwarded-proto"] == "http"


def _named_endpoints(cluster: BalancedCluster, name: str) -> None:
    from fairway.api.resources import ENDPOINT_SLICES

    entries = [{"addresses": [pod.ip], "nodeName": cluster.node_of(pod)} for pod in pods(cluster)]
    cluster.put(
        ENDPOINT_SLICES,
        {
            "metadata": {
                "name": f"{name}-1",
                "namespace": "default",
                "labels": {"kubernetes.io/service-name": name},
            },
            "addressType": "IPv4",
            "endpoints": entries,
            "ports": [{"name": port, "port": WEB, "protocol": "TCP"} for port in ("plain", "tls")],
        },
    )


def test_endpoints_come_and_go_without_a_reload_and_without_a_failed_request(
    cluster: BalancedCluster,
) -> None:
    address = cluster.publish("rolling", pods(cluster)[:1], {PREFIX + "backend-protocol": "http"}, WEB)
    eventually(lambda: get(cluster.net.client, address), within=30)
    before = reloads(cluster)
    for number in range(20):
        both = pods(cluster)
        cluster.node_endpoints("rolling", [both[number % 2]] if number % 3 else both, WEB)
        for _ in range(5):
            assert get(cluster.net.client, address)["x-forwarded-for"] == cluster.net.client_ip
    assert reloads(cluster) == before


def reloads(cluster: BalancedCluster) -> int:
    return sum(path.read_text().count("event=balancing") for path in cluster.folder.glob("speaker-*.log"))


def test_an_internal_service_is_reached_from_pods_and_nodes_but_not_from_outside(
    cluster: BalancedCluster,
) -> None:
    internal = {PREFIX + "internal": "true"}
    packets = cluster.publish("inside", pods(cluster), internal)
    requests = cluster.publish(
        "inside-http", pods(cluster), internal | {PREFIX + "backend-protocol": "http"}, WEB
    )
    pod = pods(cluster)[0]
    eventually(lambda: tcp(pod.namespace, packets, 80), within=30)
    eventually(lambda: get(pod.namespace, requests)["x-forwarded-for"] == pod.ip, within=30)
    eventually(lambda: tcp(cluster.net.nodes[1].namespace, packets, 80), within=30)
    for address in (packets, requests):
        # Even one who knows better than to ask, and sends it to a node.
        for detour in (False, True):
            if detour:
                cluster.net.client.ip(f"route add {address} via {cluster.net.nodes[0].ip}")
            with pytest.raises((TimeoutError, OSError)):
                tcp(cluster.net.client, address, 80)


def test_rules_that_someone_flushes_and_a_haproxy_that_is_killed_are_put_back(
    cluster: BalancedCluster,
) -> None:
    address = cluster.publish("robust", pods(cluster), {PREFIX + "backend-protocol": "http"}, WEB)
    client = cluster.net.client
    eventually(lambda: get(client, address), within=30)
    for node in cluster.net.nodes:
        node.namespace.command("nft", "flush", "ruleset")
        for process in haproxies(node.namespace):
            os.kill(process, signal.SIGKILL)
    eventually(lambda: get(client, address), within=30)


def haproxies(where: Namespace) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            here = (process / "ns" / "net").stat().st_ino == where.path.stat().st_ino
            if here and (process / "comm").read_text().strip() == "haproxy":
                found.append(int(process.name))
    return found


def test_a_killed_speaker_takes_its_haproxy_along_and_starts_anew(cluster: BalancedCluster) -> None:
    address = cluster.publish("reborn", pods(cluster), {PREFIX + "backend-protocol": "http"}, WEB)
    client, node = cluster.net.client, cluster.net.nodes[0]
    eventually(lambda: get(client, address) and haproxies(node.namespace), within=30)
    for process in haproxies(node.namespace):
        assert Path(f"/proc/{process}").stat().st_uid != 0
    cluster.speaker(node.name).kill()
    eventually(lambda: not haproxies(node.namespace), within=30)
    eventually(lambda: get(client, address), within=30)
    cluster.speaker(node.name).start()
    eventually(lambda: haproxies(node.namespace), within=30)
    eventually(lambda: get(client, address), within=30)


def test_source_ranges_are_kept(cluster: BalancedCluster) -> None:
    annotations = {PREFIX + "backend-protocol": "http"}
    address = cluster.publish(
        "ranged", pods(cluster), annotations, WEB, loadBalancerSourceRanges=["172.30.96.50/32"]
    )
    eventually(lambda: get(cluster.net.client, address), within=30)
    with pytest.raises((OSError, AssertionError)):
        get(pods(cluster)[0].namespace, address)


def test_the_local_port_of_the_balancer_is_closed_to_the_network(cluster: BalancedCluster) -> None:
    cluster.publish("closed", pods(cluster), {PREFIX + "backend-protocol": "http"}, WEB)
    node = cluster.net.nodes[0]
    eventually(lambda: ":21000" in node.namespace.command("ss", "-ltn"), within=30)
    with pytest.raises(ConnectionRefusedError):
        connect(cluster.net.client, node.ip, 21000)


def test_a_port_that_no_service_has_is_refused_at_once(cluster: BalancedCluster) -> None:
    address = cluster.publish("refusing", pods(cluster))
    eventually(lambda: tcp(cluster.net.client, address, 80), within=30)
    with pytest.raises(ConnectionRefusedError):
        connect(cluster.net.client, address, 81)


def test_hostile_annotations_and_secrets_harm_nobody(cluster: BalancedCluster) -> None:
    address = cluster.publish("innocent", pods(cluster), {PREFIX + "backend-protocol": "http"}, WEB)
    evil = 'x"\n    use_backend other\n'
    cluster.put(
        SECRETS,
        {
            "metadata": {"name": "broken", "namespace": "default"},
            "type": "kubernetes.io/tls",
            "data": {
                "tls.crt": base64.b64encode(b"no").decode(),
                "tls.key": base64.b64encode(b"no").decode(),
            },
        },
    )
    cluster.put(
        CONFIG_MAPS,
        {
            "metadata": {"name": "fairway-lb", "namespace": "kube-system"},
            "data": {"certificates": json.dumps({"odd\nname": "default/broken"})},
        },
    )
    cluster.publish("evil-1", pods(cluster), {PREFIX + "ssl-cert": evil}, WEB)
    cluster.publish("evil-2", pods(cluster), {PREFIX + "ssl-cert": "broken"}, WEB)
    cluster.publish("evil-3", pods(cluster), {PREFIX + "ssl-cert": "odd\nname"}, WEB)
    eventually(
        lambda: cluster.events("CertificateInvalid") and cluster.events("CertificateMissing"), within=30
    )
    eventually(lambda: get(cluster.net.client, address), within=30)
    for path in cluster.files.glob("balancer-*/*.cfg"):
        assert "use_backend" not in path.read_text()
