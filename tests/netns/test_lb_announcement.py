"""Load balancer addresses on a real network: three nodes with speakers and proxies, and a client."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from fairway.api.resources import CONFIG_MAPS, ENDPOINT_SLICES, EVENTS, LEASES, SERVICES
from fairway.client import Client, NotFound
from fairway.kernel.link import PacketLink
from fairway.lb.speaker import wire
from fairway.lb.speaker.announcer import Announcer
from fairway.lb.speaker.model import lease_name

from .test_proxy_component import TARGET, Cluster, Process, eventually
from .topology import Namespace, Network, Pod, network, tcp

POOLS = """
address-pools:
- name: lan
  protocol: layer2
  addresses: [172.30.96.200-172.30.96.250, "fd00:30::200-fd00:30::250"]
"""


class Witness:
    """Asks for an address again and again and notes who answers, and when."""

    def __init__(self, where: Namespace, address: str, every: float = 0.01) -> None:
        self.address = wire.ipaddress.ip_address(address)
        self.heard: list[tuple[float, str]] = []
        self._every = every
        self._socket = where.run(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3)))
        self._socket.bind(("eth0", 3))
        self._socket.settimeout(0.2)
        self._mac = self._socket.getsockname()[4]
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._ask, self._listen)]

    def __enter__(self) -> Witness:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def turns(self) -> list[str]:
        """Who answered, one entry for each time that it was someone else than before."""
        found: list[str] = []
        for _, mac in list(self.heard):
            if not found or found[-1] != mac:
                found.append(mac)
        return found

    def longest_silence(self) -> float:
        times = [moment for moment, _ in list(self.heard)]
        return max((late - early for early, late in pairwise(times)), default=0.0)

    def _ask(self) -> None:
        while not self._stop.wait(self._every):
            self._socket.send(wire.probe(self.address, self._mac))

    def _listen(self) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                frame = self._socket.recv(2048)
                heard = wire.read(frame)
                if isinstance(heard, wire.Claim) and heard.address == self.address:
                    self.heard.append((time.monotonic(), heard.mac.hex(":")))


class Probes:
    """Connects to an address all the time; knows for how long nobody got an answer."""

    def __init__(self, where: Namespace, address: str) -> None:
        self._where, self._address = where, address
        self.answered: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Probes:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def outage(self) -> float:
        return max((b - a for a, b in pairwise(self.answered)), default=0.0)

    def _work(self) -> None:
        while not self._stop.wait(0.01):
            with contextlib.suppress(OSError), self._where.socket() as probe:
                probe.settimeout(0.1)
                probe.connect((self._address, 80))
                if probe.recv(100):
                    self.answered.append(time.monotonic())


class BalancedCluster(Cluster):
    def __init__(self, net: Network, folder: Path) -> None:
        super().__init__(net, folder)
        meta = {"name": "fairway-lb", "namespace": "kube-system"}
        eventually(lambda: self.put(CONFIG_MAPS, {"metadata": meta, "data": {"config": POOLS}}), within=30)
        self.controller = Process(net.lan, folder / "lb.log", "lb", *self._lb("controller"))
        self.speakers = [
            Process(
                node.namespace,
                folder / f"speaker-{node.name}.log",
                "lb",
                *self._lb("speaker", "--node", node.name, "--interface", "eth0"),
                *("--data", str(folder / f"balancer-{node.name}")),
            )
            for node in net.nodes
        ]

    def _lb(self, role: str, *more: str) -> tuple[str, ...]:
        return ("--kubeconfig", str(self._remote), "--role", role, *more)

    def publish(
        self, name: str, pods: list[Pod], annotations: dict[str, str] | None = None, **spec: object
    ) -> str:
        """Its address, once there is one."""
        meta = {"name": name, "namespace": "default", "annotations": annotations or {}}
        port = {"port": 80, "targetPort": TARGET}
        self.put(SERVICES, {"metadata": meta, "spec": {"type": "LoadBalancer", "ports": [port]} | spec})
        self.node_endpoints(name, pods)
        eventually(lambda: self.addresses(name), within=30)
        return self.addresses(name)[0]

    def node_endpoints(self, name: str, pods: list[Pod]) -> None:
        """As `endpoints`, but they say on which node they are."""
        on = {id(pod): node.name for node in self.net.nodes for pod in node.pods}
        labels = {"kubernetes.io/service-name": name}
        entries = [
            {"addresses": [pod.ip], "nodeName": on[id(pod)], "conditions": {"ready": True}} for pod in pods
        ]
        self.put(
            ENDPOINT_SLICES,
            {
                "metadata": {"name": f"{name}-1", "namespace": "default", "labels": labels},
                "addressType": "IPv4",
                "endpoints": entries,
                "ports": [{"name": "", "port": TARGET, "protocol": "TCP"}],
            },
        )

    def addresses(self, name: str) -> list[str]:
        async def work(client: Client) -> list[str]:
            service = await client.get(SERVICES, name, namespace="default")
            points = service.get("status", {}).get("loadBalancer", {}).get("ingress") or []
            return [point["ip"] for point in points]

        return self.call(work)

    def holder(self, address: str) -> str:
        async def work(client: Client) -> str:
            try:
                lease = await client.get(LEASES, lease_name(address), namespace="kube-system")
            except NotFound:
                return ""
            return str(lease["spec"].get("holderIdentity") or "")

        return self.call(work)

    def events(self, reason: str) -> list[str]:
        async def work(client: Client) -> list[str]:
            listing = await client.list(EVENTS, namespace="default")
            return [event["message"] for event in listing.items if event["reason"] == reason]

        return self.call(work)

    def mac(self, name: str) -> str:
        node = next(node for node in self.net.nodes if node.name == name)
        found = re.search(r"link/ether (\S+)", node.namespace.command("ip", "link", "show", "eth0"))
        assert found
        return found[1]

    def speaker(self, node: str) -> Process:
        return self.speakers[[n.name for n in self.net.nodes].index(node)]

    def close(self) -> None:
        for process in (self.controller, *self.speakers):
            process.kill(signal.SIGTERM)
        super().close()


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


def test_an_ipv6_address_is_found_by_neighbour_discovery(cluster: BalancedCluster) -> None:
    node, client, address = cluster.net.nodes[0], cluster.net.client, "fd00:30::230"

    async def speak() -> None:
        announcer = Announcer(link, lambda asked: asked == address, lambda *conflict: None)
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
    address = cluster.publish("failover", pods(cluster))
    eventually(lambda: answered(cluster.net.client, address), within=30)
    first = cluster.holder(address)
    with Witness(cluster.net.client, address) as witness, Probes(cluster.net.client, address) as probes:
        eventually(lambda: len(probes.answered) > 20, within=30)
        cluster.speaker(first).kill()
        eventually(lambda: cluster.holder(address) not in ("", first), within=30)
        second = cluster.holder(address)
        count = len(probes.answered)
        eventually(lambda: len(probes.answered) > count + 20, within=30)
        cluster.speaker(first).start()
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
