"""Every record of the DNS specification 1.1, asked by dig over UDP and TCP, of Services made by the API."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from fairway.api.resources import ENDPOINT_SLICES, NAMESPACES, PODS, SERVICE_ACCOUNTS, SERVICES, Resource
from fairway.client import Client, KubeConfig
from fairway.dns import names, wire
from fairway.dns.cluster import WatchedCluster
from fairway.dns.wire import Query
from tests.component.dns_support import free_port, serving
from tests.component.test_dns_cluster import ApiServer

COREFILE = """\
.:{port} {{
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        pods verified
    }}
    loadbalance
}}
"""
ZONE = "cluster.local"


@dataclass
class Cluster:
    """An API server, a DNS server that follows it, and dig."""

    client: Client
    port: int
    followed: WatchedCluster

    async def put(self, resource: Resource, name: str, namespace: str = "default", **body: Any) -> int:
        """Makes an object; returns its revision."""
        metadata = {"name": name, **body.pop("metadata", {})}
        obj = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **body}
        where = {} if resource is NAMESPACES else {"namespace": namespace}
        made = await self.client.create(resource, obj, **where)
        return int(made["metadata"]["resourceVersion"])

    async def slice(self, service: str, *addresses: str, name: str = "", **endpoint: Any) -> int:
        ports = [{"name": "http", "port": 8080}]
        return await self.put(
            ENDPOINT_SLICES,
            name or service,
            metadata={"labels": {"kubernetes.io/service-name": service}},
            addressType="IPv6" if ":" in addresses[0] else "IPv4",
            ports=ports,
            endpoints=[{"addresses": [address], **endpoint} for address in addresses],
        )

    async def reached(self, revision: int) -> None:
        """Waits until answers reflect a revision of a slice."""
        async with asyncio.timeout(60):
            while True:
                if self.followed.programmed >= revision:
                    return
                await asyncio.sleep(0.002)

    async def dig(self, name: str, rdtype: str = "A") -> list[str]:
        """The records of the answer, or its status if there are none; the same over UDP and TCP."""
        over_udp, over_tcp = [await self._dig(name, rdtype, option) for option in ("+notcp", "+tcp")]
        assert over_udp == over_tcp
        return over_udp

    async def _dig(self, name: str, rdtype: str, *options: str) -> list[str]:
        words = ["dig", "+tries=1", "+time=5", "+noall", "+answer", "+comments", *options]
        process = await asyncio.create_subprocess_exec(
            *words, "-p", str(self.port), "@127.0.0.1", name, rdtype, stdout=asyncio.subprocess.PIPE
        )
        lines = (await process.communicate())[0].decode().splitlines()
        found = [" ".join(line.split()[3:]) for line in lines if line and not line.startswith(";")]
        status = next(line.split("status: ")[1].split(",")[0] for line in lines if "status: " in line)
        return sorted(found) or [status]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    folder: Path = tmp_path_factory.mktemp("api")
    ranges = ["--service-cluster-ip-range", "10.96.0.0/16,fd00:96::/112"]
    api = ApiServer(folder / "data", free_port(), *ranges)
    await api.start()
    config = KubeConfig.load(api.data / "kubeconfig")
    followed, port = WatchedCluster(config), free_port()
    following = asyncio.create_task(followed.run())
    async with Client(config) as client, serving(COREFILE.format(port=port), followed, port) as server:
        async with asyncio.timeout(60):
            while True:
                if not server.not_ready():
                    break
                await asyncio.sleep(0.01)
        yield Cluster(client, port, followed)
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following
    await api.kill()


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def becomes(cluster: Cluster, name: str, rdtype: str, wanted: list[str]) -> None:
    """The answer, once events have arrived."""
    found: list[str] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(30):
            while True:
                found = await cluster.dig(name, rdtype)
                if found == wanted:
                    return
                await asyncio.sleep(0.05)
    assert found == wanted


async def test_a_cluster_ip_in_both_families_with_its_ports_and_its_reverse(cluster: Cluster) -> None:
    ports = [{"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]
    addresses = ["10.96.7.1", "fd00:96::71"]
    spec = {
        "clusterIPs": addresses,
        "clusterIP": addresses[0],
        "ipFamilyPolicy": "RequireDualStack",
        "ports": ports,
    }
    await cluster.put(SERVICES, "dual", spec=spec)
    name = f"dual.default.svc.{ZONE}"
    await becomes(cluster, name, "A", ["A 10.96.7.1"])
    assert await cluster.dig(name, "AAAA") == ["AAAA fd00:96::71"]
    assert await cluster.dig(f"_http._tcp.{name}", "SRV") == [f"SRV 0 50 80 {name}."]
    assert await cluster.dig(f"_dns._udp.{name}", "SRV") == [f"SRV 0 50 53 {name}."]
    assert await cluster.dig(f"_http._udp.{name}", "SRV") == ["NXDOMAIN"]
    assert await cluster.dig(name, "MX") == ["NOERROR"]
    assert await cluster.dig("1.7.96.10.in-addr.arpa", "PTR") == [f"PTR {name}."]
    reverse = ".".join(reversed("fd000096000000000000000000000071")) + ".ip6.arpa"
    assert await cluster.dig(reverse, "PTR") == [f"PTR {name}."]


async def test_headless_with_hostnames_and_without(cluster: Cluster) -> None:
    spec = {"clusterIP": "None", "selector": {"app": "x"}, "ports": [{"name": "http", "port": 80}]}
    await cluster.put(SERVICES, "set", spec=spec)
    await cluster.slice("set", "10.244.0.1", hostname="web-0", name="set-a")
    await cluster.slice("set", "10.244.0.2", name="set-b")
    await cluster.reached(await cluster.slice("set", "10.244.0.3", name="set-c", conditions={"ready": False}))
    name = f"set.default.svc.{ZONE}"
    await becomes(cluster, name, "A", ["A 10.244.0.1", "A 10.244.0.2"])
    assert await cluster.dig(f"web-0.{name}") == ["A 10.244.0.1"]
    assert await cluster.dig(f"10-244-0-2.{name}") == ["A 10.244.0.2"]
    assert await cluster.dig(f"10-244-0-1.{name}") == ["NXDOMAIN"]
    assert await cluster.dig(f"_http._tcp.{name}", "SRV") == [
        f"SRV 0 50 8080 10-244-0-2.{name}.",
        f"SRV 0 50 8080 web-0.{name}.",
    ]
    assert await cluster.dig("1.0.244.10.in-addr.arpa", "PTR") == [f"PTR web-0.{name}."]
    assert await cluster.dig("3.0.244.10.in-addr.arpa", "PTR") == ["NXDOMAIN"]


async def test_headless_without_selector_has_hand_made_endpoints(cluster: Cluster) -> None:
    await cluster.put(SERVICES, "hand", spec={"clusterIP": "None", "ports": [{"port": 5432}]})
    await cluster.reached(await cluster.slice("hand", "192.0.2.42"))
    await becomes(cluster, f"hand.default.svc.{ZONE}", "A", ["A 192.0.2.42"])


async def test_external_names_lead_outside_and_to_names_of_the_cluster(cluster: Cluster) -> None:
    await cluster.put(SERVICES, "target", spec={"clusterIP": "10.96.7.2", "ports": [{"port": 80}]})
    outside = {"type": "ExternalName", "externalName": "my.database.example.com"}
    await cluster.put(SERVICES, "outside", spec=outside)
    chained = {"type": "ExternalName", "externalName": f"target.default.svc.{ZONE}"}
    await cluster.put(SERVICES, "chained", spec=chained)
    await becomes(cluster, f"outside.default.svc.{ZONE}", "CNAME", ["CNAME my.database.example.com."])
    await becomes(
        cluster, f"chained.default.svc.{ZONE}", "A", ["A 10.96.7.2", f"CNAME target.default.svc.{ZONE}."]
    )


async def test_pods_have_names_after_their_addresses(cluster: Cluster) -> None:
    spec = {"containers": [{"name": "c", "image": "busybox"}]}
    await cluster.put(SERVICE_ACCOUNTS, "default")
    await cluster.put(PODS, "pod", spec=spec)
    patch = {"status": {"podIP": "10.244.0.5", "podIPs": [{"ip": "10.244.0.5"}], "phase": "Running"}}
    await cluster.client.patch(PODS, "pod", patch, namespace="default", subresource="status")
    await becomes(cluster, f"10-244-0-5.default.pod.{ZONE}", "A", ["A 10.244.0.5"])
    assert await cluster.dig(f"10-244-0-6.default.pod.{ZONE}") == ["NXDOMAIN"]


async def test_the_zone_tells_of_itself(cluster: Cluster) -> None:
    assert await cluster.dig(f"dns-version.{ZONE}", "TXT") == ['TXT "1.1.0"']
    (soa,) = await cluster.dig(ZONE, "SOA")
    assert soa.startswith(f"SOA ns.dns.{ZONE}. hostmaster.{ZONE}. ")
    assert await cluster.dig(f"nope.default.svc.{ZONE}") == ["NXDOMAIN"]
    assert await cluster.dig(ZONE, "AXFR") != ["NOERROR"]


async def test_a_service_may_change_its_type(cluster: Cluster) -> None:
    spec = {"type": "ExternalName", "externalName": "my.database.example.com"}
    await cluster.put(SERVICES, "moving", spec=spec)
    name = f"moving.default.svc.{ZONE}"
    await becomes(cluster, name, "CNAME", ["CNAME my.database.example.com."])
    change = {"spec": {"type": "ClusterIP", "clusterIP": "10.96.7.9", "ports": [{"port": 80}]}}
    await cluster.client.patch(SERVICES, "moving", change, namespace="default")
    await becomes(cluster, name, "A", ["A 10.96.7.9"])
    back = {
        "spec": {"type": "ExternalName", "externalName": "b.example", "clusterIP": "", "clusterIPs": None}
    }
    await cluster.client.patch(SERVICES, "moving", back, namespace="default")
    await becomes(cluster, name, "CNAME", ["CNAME b.example."])
    assert await cluster.dig("9.7.96.10.in-addr.arpa", "PTR") == ["NXDOMAIN"]


async def test_a_thousand_endpoints_come_whole_over_tcp_and_cut_over_udp(cluster: Cluster) -> None:
    await cluster.put(SERVICES, "large", spec={"clusterIP": "None", "ports": [{"name": "http", "port": 80}]})
    revision = 0
    for part in range(10):
        addresses = [f"10.200.{part}.{host + 1}" for host in range(100)]
        revision = await cluster.slice("large", *addresses, name=f"large-{part}")
    await cluster.reached(revision)
    name = f"large.default.svc.{ZONE}"
    assert len(set(await cluster._dig(name, "A", "+tcp"))) == 1000
    assert len(set(await cluster._dig(f"_http._tcp.{name}", "SRV", "+tcp"))) > 600
    for size in (512, 1232, 4096):
        answer = await exchange(cluster.port, name, size)
        assert size - 30 <= len(answer) <= size
        assert answer[2] & wire.TC >> 8


async def exchange(port: int, name: str, size: int) -> bytes:
    loop = asyncio.get_running_loop()
    edns = None if size == 512 else wire.Edns(size)
    transport, protocol = await loop.create_datagram_endpoint(_One, remote_addr=("127.0.0.1", port))
    transport.sendto(wire.write_query(Query(1, names.from_text(name), wire.A, edns=edns)))
    try:
        return await asyncio.wait_for(protocol.answer, 10)
    finally:
        transport.close()


class _One(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if not self.answer.done():
            self.answer.set_result(data)


async def test_a_thousand_writes_are_each_seen_by_the_question_after_their_event(cluster: Cluster) -> None:
    await cluster.put(SERVICES, "moves", spec={"clusterIP": "None", "ports": [{"port": 80}]})
    await cluster.reached(await cluster.slice("moves", "10.1.0.0"))
    name = f"moves.default.svc.{ZONE}"
    for number in range(1, 1001):
        address = f"10.1.{number // 250}.{number % 250}"
        change = {"endpoints": [{"addresses": [address]}]}
        made = await cluster.client.patch(ENDPOINT_SLICES, "moves", change, namespace="default")
        await cluster.reached(int(made["metadata"]["resourceVersion"]))
        answer = await exchange(cluster.port, name, 512)
        assert ".".join(map(str, answer[-4:])) == address
