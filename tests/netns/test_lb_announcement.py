"""Load balancer addresses on a real network: three nodes with speakers and proxies, and a client."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Iterator

import pytest

from fairway.api.resources import SERVICES
from fairway.kernel.link import PacketLink
from fairway.lb.speaker.announcer import Announcer

from .lb_cluster import BalancedCluster, Probes, Witness
from .proxy_cluster import PORT, TARGET, eventually
from .topology import Namespace, Pod, network, tcp


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BalancedCluster]:
    with network() as net:
        for _ in range(3):
            node = net.add_node()
            net.add_pod(node, f"web-{node.number}", TARGET)
        folder = tmp_path_factory.mktemp("cluster")
        built = BalancedCluster(net, folder)
        try:
            yield built
        finally:
            built.close()
            for path in folder.glob("*.log"):
                print(f"--- {path.name}\n{path.read_text()[-3000:]}")  # noqa: T201


def pods(cluster: BalancedCluster) -> list[Pod]:
    return [node.pods[0] for node in cluster.net.nodes]


def answered(where: Namespace, address: str) -> bool:
    return tcp(where, address, 80).startswith("web-")


def test_a_client_on_the_network_reaches_a_service_by_its_address(cluster: BalancedCluster) -> None:
    address = cluster.publish("plain", pods(cluster))
    eventually(lambda: answered(cluster.net.client, address), within=30)
    eventually(lambda: cluster.events("AddressAssigned"), within=30)
    for node in cluster.net.nodes:
        assert address not in node.namespace.command("ip", "address")


def test_an_ipv6_address_is_reached_and_fails_over(cluster: BalancedCluster) -> None:
    client = cluster.net.client
    address = cluster.publish("six", pods(cluster), ipFamilies=["IPv6"])
    assert address.startswith("fd00:30::")
    eventually(lambda: answered(client, address), within=30)
    first = cluster.holder(address)
    with Witness(client, address) as witness:
        eventually(lambda: len(witness.heard) > 5, within=30)
        cluster.speaker(first).kill(signal.SIGTERM)
        eventually(lambda: cluster.holder(address) not in ("", first), within=30)
        eventually(lambda: witness.turns()[-1] == cluster.mac(cluster.holder(address)), within=30)
        assert answered(client, address)
        cluster.speaker(first).start()
    assert witness.turns() == [cluster.mac(first), cluster.mac(cluster.holder(address))]


def test_an_ipv6_address_is_found_by_neighbour_discovery(cluster: BalancedCluster) -> None:
    node, client, address = cluster.net.nodes[0], cluster.net.client, "fd00:30::230"

    async def speak() -> None:
        announcer = Announcer(link, lambda asked: asked == address, lambda *_: None, lambda _: None)
        announcer.listen(address)
        stop = announcer.run()
        await asyncio.to_thread(ask)
        stop()

    def ask() -> None:
        with client.socket(socket.AF_INET6, socket.SOCK_DGRAM) as question:
            question.sendto(b"?", (address, 9))
        eventually(
            lambda: cluster.mac("node-1") in client.command("ip", "-6", "neigh", "show", address), within=30
        )

    link = node.namespace.run(lambda: PacketLink("eth0"))
    try:
        asyncio.run(speak())
    finally:
        link.close()


def test_a_node_killed_under_traffic_is_replaced_and_no_two_nodes_ever_answer(
    cluster: BalancedCluster,
) -> None:
    client = cluster.net.client
    address = cluster.publish("failover", pods(cluster))
    eventually(lambda: answered(client, address), within=30)
    first = cluster.holder(address)
    # Endpoints elsewhere, so that what is measured is the way to them.
    cluster.node_endpoints("failover", [pod for pod in pods(cluster) if cluster.node_of(pod) != first])
    with Witness(client, address) as witness, Probes(client, address) as probes:
        eventually(lambda: len(probes.answered) > 20 and len(witness.heard) > 20, within=30)
        cluster.cut_off(first)
        cluster.speaker(first).kill()
        eventually(lambda: cluster.holder(address) not in ("", first), within=30)
        second, count = cluster.holder(address), len(probes.answered)
        eventually(lambda: len(probes.answered) > count + 20, within=30)
        cluster.reconnect(first)
        cluster.speaker(first).start()
        count = len(witness.heard)
        eventually(lambda: len(witness.heard) > count + 50, within=30)
    silence, outage = witness.longest_silence(), probes.outage()
    print(f"failover: no answer by ARP for {silence:.2f} s, by TCP for {outage:.2f} s")  # noqa: T201
    assert witness.turns() == [cluster.mac(first), cluster.mac(second)]


def test_a_holder_that_was_frozen_does_not_answer_when_it_wakes_up(cluster: BalancedCluster) -> None:
    address = cluster.publish("frozen", pods(cluster))
    eventually(lambda: answered(cluster.net.client, address), within=30)
    first = cluster.holder(address)
    with Witness(cluster.net.client, address) as witness:
        eventually(lambda: len(witness.heard) > 20, within=30)
        cluster.speaker(first).send(signal.SIGSTOP)
        eventually(lambda: cluster.holder(address) not in ("", first), within=30)
        second = cluster.holder(address)
        eventually(lambda: witness.turns()[-1] == cluster.mac(second), within=30)
        # Hundreds of questions wait in its socket by now.
        cluster.speaker(first).send(signal.SIGCONT)
        count = len(witness.heard)
        eventually(lambda: len(witness.heard) > count + 50, within=30)
    assert witness.turns() == [cluster.mac(first), cluster.mac(second)]


def test_addresses_are_answered_for_while_there_is_no_api_server(cluster: BalancedCluster) -> None:
    client, lasting = cluster.net.client, 5
    address = cluster.publish("lasting", pods(cluster))
    eventually(lambda: answered(client, address), within=30)
    holder = cluster.holder(address)
    with Witness(client, address) as witness:
        eventually(lambda: len(witness.heard) > 20, within=30)
        cluster.apiserver.kill()
        began, count = time.monotonic(), len(witness.heard)
        # Many times as long as a Lease lasts.
        eventually(lambda: witness.heard[-1][0] > began + lasting, within=30)
        assert len(witness.heard) > count + 100
        cluster.apiserver.start()
        eventually(lambda: cluster.holder(address), within=30)
        count = len(witness.heard)
        eventually(lambda: len(witness.heard) > count + 200, within=30)
    assert witness.turns() == [cluster.mac(holder)]


def test_addresses_are_answered_for_while_the_api_server_hangs(cluster: BalancedCluster) -> None:
    """When it goes on, it may grant what others had given up asking for: then the address moves, once."""
    client = cluster.net.client
    address = cluster.publish("hanging", pods(cluster))
    eventually(lambda: answered(client, address), within=30)
    holder = cluster.mac(cluster.holder(address))
    with Witness(client, address) as witness:
        eventually(lambda: len(witness.heard) > 20, within=30)
        cluster.apiserver.send(signal.SIGSTOP)
        try:
            began = time.monotonic()
            eventually(lambda: witness.heard[-1][0] > began + 5, within=30)
            assert witness.turns() == [holder]
        finally:
            cluster.apiserver.send(signal.SIGCONT)
        count = len(witness.heard)
        eventually(lambda: len(witness.heard) > count + 200, within=30)
    turns = witness.turns()
    assert len(turns) == len(set(turns))


@pytest.mark.parametrize("way", ["REJECT --reject-with tcp-reset", "DROP"])
def test_a_holder_that_loses_the_api_server_alone_makes_room_for_another(
    cluster: BalancedCluster, way: str
) -> None:
    """It goes on until it hears that another node has the address now."""
    client, name = cluster.net.client, f"alone-{way[:4].lower()}"
    address = cluster.publish(name, pods(cluster))
    eventually(lambda: answered(client, address), within=30)
    first = cluster.holder(address)
    node = next(node.namespace for node in cluster.net.nodes if node.name == first)
    rule = ("OUTPUT", "-p", "tcp", "--dport", str(PORT), "-j", *way.split())
    with Witness(client, address) as witness:
        eventually(lambda: len(witness.heard) > 20, within=30)
        node.command("iptables", "-I", *rule)
        try:
            eventually(lambda: cluster.holder(address) not in ("", first), within=30)
            second = cluster.holder(address)
            eventually(lambda: witness.turns()[-1] == cluster.mac(second), within=30)
            count = len(witness.heard)
            eventually(lambda: len(witness.heard) > count + 300, within=30)
        finally:
            node.command("iptables", "-D", *rule)
        count = len(witness.heard)
        eventually(lambda: len(witness.heard) > count + 100, within=30)
    assert witness.turns() == [cluster.mac(first), cluster.mac(second)]


def test_with_policy_local_the_address_follows_the_endpoint(cluster: BalancedCluster) -> None:
    client = cluster.net.client
    address = cluster.publish("local", pods(cluster)[1:2], externalTrafficPolicy="Local")
    eventually(lambda: tcp(client, address, 80) == f"web-2 {cluster.net.client_ip}", within=30)
    assert cluster.holder(address) == "node-2"
    cluster.node_endpoints("local", pods(cluster)[2:3])
    eventually(lambda: tcp(client, address, 80) == f"web-3 {cluster.net.client_ip}", within=30)
    assert cluster.holder(address) == "node-3"
    cluster.node_endpoints("local", [])
    eventually(lambda: cluster.holder(address) == "", within=30)


def test_another_machine_that_claims_the_address_is_reported(cluster: BalancedCluster) -> None:
    address = cluster.publish("contested", pods(cluster))
    eventually(lambda: answered(cluster.net.client, address), within=30)
    cluster.net.lan.ip(f"addr add {address}/32 dev lan0")
    try:
        eventually(
            lambda: any(address in message for message in cluster.events("AddressConflict")), within=60
        )
    finally:
        cluster.net.lan.ip(f"addr del {address}/32 dev lan0")


def test_a_service_that_is_no_load_balancer_any_more_loses_its_address(cluster: BalancedCluster) -> None:
    address = cluster.publish("changing", pods(cluster))
    eventually(lambda: cluster.holder(address), within=30)
    cluster.put(
        SERVICES, {"metadata": {"name": "changing", "namespace": "default"}, "spec": {"type": "ClusterIP"}}
    )
    eventually(lambda: not cluster.addresses("changing"), within=30)
    eventually(lambda: cluster.holder(address) == "", within=30)
    with Witness(cluster.net.client, address) as witness:
        time.sleep(0.3)
    assert witness.heard == []
