"""The server on loopback, asked by dig and over raw sockets: UDP, TCP, forwarding, changes, reloading."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any

import dns.message
import dns.rrset
import pytest

from fairway.dns import names, wire
from fairway.dns.listeners import bound_socket
from fairway.dns.wire import Edns, Query
from tests.component.dns_support import StaticCluster, fixtures, free_port, serving

WEB = "web.prod.svc.cluster.local"
COREFILE = """\
.:{port} {{
    errors
    ready 127.0.0.1:{pages}
    health 127.0.0.1:{pages}
    prometheus 127.0.0.1:{pages}
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }}
    forward . 127.0.0.1:{upstream} {{
        prefer_udp
    }}
    cache 30
    loadbalance
}}
"""


class Upstream:
    """A name server whose answers are given; counts who asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.sources: set[int] = set()
        self.spoofed = False

    def answer(self, data: bytes) -> list[bytes]:
        query = dns.message.from_wire(data)
        name = query.question[0].name.to_text()
        self.asked.append(name)
        reply = dns.message.make_response(query, recursion_available=True)
        count = 100 if name.startswith("big") else 1
        rows = [f"192.0.2.{i + 1}" for i in range(count)]
        reply.answer.append(dns.rrset.from_text(name, 60, "IN", "A", *rows))
        if name.startswith("silent"):
            return []
        good = reply.to_wire(max_size=65535)
        wrong_id = struct.pack("!H", query.id ^ 1) + good[2:]
        wrong_name = good.replace(b"\x05spoof", b"\x05other")
        return [wrong_id, wrong_name, good] if self.spoofed else [good]

    async def serve(self, port: int) -> tuple[asyncio.DatagramTransport, asyncio.Server]:
        upstream = self

        class Udp(asyncio.DatagramProtocol):
            def connection_made(self, transport: Any) -> None:
                self.transport = transport

            def datagram_received(self, data: bytes, addr: Any) -> None:
                upstream.sources.add(addr[1])
                for answer in upstream.answer(data):
                    self.transport.sendto(answer if len(answer) < 512 else cut(answer), addr)

        async def tcp(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            size = int.from_bytes(await reader.readexactly(2), "big")
            (answer,) = self.answer(await reader.readexactly(size))
            writer.write(len(answer).to_bytes(2, "big") + answer)
            await writer.drain()
            writer.close()

        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(Udp, local_addr=("127.0.0.1", port))
        return transport, await asyncio.start_server(tcp, "127.0.0.1", port)


def cut(answer: bytes) -> bytes:
    """An answer without its records, and TC."""
    end = answer.index(0, 12) + 5
    return answer[:2] + bytes((answer[2] | 2, answer[3])) + b"\0\1\0\0\0\0\0\0" + answer[12:end]


class World:
    def __init__(self, port: int, pages: int, cluster: StaticCluster, upstream: Upstream) -> None:
        self.port, self.pages, self.cluster, self.upstream = port, pages, cluster, upstream

    async def dig(self, *words: str, at: str = "127.0.0.1") -> str:
        options = ["+tries=1", "+time=3", "+noall", "+answer", "+authority", "+comments"]
        command = ["dig", "-p", str(self.port), f"@{at}", *options, *words]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
        return output.decode()

    async def udp(self, data: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.connect(("127.0.0.1", self.port))
            await loop.sock_sendall(sock, data)
            return await asyncio.wait_for(loop.sock_recv(sock, 65535), 3)

    async def page(self, path: str) -> tuple[int, str]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.pages)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = (await reader.read()).decode()
        writer.close()
        return int(answer.split()[1]), answer.partition("\r\n\r\n")[2]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    port, pages, behind = free_port(), free_port(), free_port()
    upstream = Upstream()
    transport, tcp = await upstream.serve(behind)
    cluster = StaticCluster(fixtures())
    text = COREFILE.format(port=port, pages=pages, upstream=behind)
    async with serving(text, cluster, port):
        yield World(port, pages, cluster, upstream)
    transport.close()
    tcp.close()


def query(name: str = WEB, rdtype: int = wire.A, ident: int = 7, edns: Edns | None = None) -> bytes:
    return wire.write_query(Query(ident, names.from_text(name), rdtype, edns=edns))


# ---- dig -----------------------------------------------------------------------------------------------


async def test_dig_finds_a_service_over_udp_and_tcp(world: World) -> None:
    for option in ("+notcp", "+tcp"):
        output = await world.dig(option, WEB)
        assert "status: NOERROR" in output
        assert f"{WEB}. 5\tIN\tA\t10.96.4.1" in output.replace("\t\t", "\t")


async def test_dig_is_told_apart_what_is_missing_and_what_has_no_such_record(world: World) -> None:
    assert "status: NXDOMAIN" in await world.dig("nope.prod.svc.cluster.local")
    nodata = await world.dig(WEB, "AAAA")
    assert "status: NOERROR" in nodata
    assert "SOA" in nodata


async def test_dig_follows_truncation_to_tcp(world: World) -> None:
    output = await world.dig("n300.big.svc.cluster.local", "+bufsize=512")
    assert output.count("10.245.") == 300
    assert "retrying in TCP mode" in output


async def test_dig_resolves_an_external_name_through_the_upstream(world: World) -> None:
    output = await world.dig("out.ext.svc.cluster.local")
    assert "CNAME\thost1.up.test." in output
    assert "192.0.2.1" in output


async def test_a_server_on_all_addresses_answers_from_the_one_that_was_asked() -> None:
    port = free_port()
    text = f".:{port} {{\nkubernetes cluster.local\n}}"
    cluster = StaticCluster(fixtures())
    async with serving(text, cluster, port, bind=("0.0.0.0",)):
        world = World(port, 0, cluster, Upstream())
        for address in ("127.0.0.1", "127.0.0.77"):
            assert "10.96.4.1" in await world.dig(WEB, at=address)


async def test_ipv6_is_served() -> None:
    port = free_port()
    cluster = StaticCluster(fixtures())
    async with serving(f".:{port} {{\nkubernetes cluster.local\n}}", cluster, port, bind=("::1",)):
        assert "10.96.4.1" in await World(port, 0, cluster, Upstream()).dig(WEB, at="::1")


# ---- TCP -----------------------------------------------------------------------------------------------


async def test_questions_in_one_segment_are_all_answered_and_slow_ones_do_not_hold_up_others(
    world: World,
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    messages = [query("silent.up.test", ident=1), query(ident=2), query("fast.up.test", ident=3)]
    writer.write(b"".join(len(m).to_bytes(2, "big") + m for m in messages))
    found = []
    for _ in range(2):
        size = int.from_bytes(await asyncio.wait_for(reader.readexactly(2), 1), "big")
        found.append(int.from_bytes((await reader.readexactly(size))[:2], "big"))
    assert sorted(found) == [2, 3]
    writer.close()


async def test_a_question_may_come_octet_by_octet(world: World) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    message = query()
    for octet in len(message).to_bytes(2, "big") + message:
        writer.write(bytes((octet,)))
        await writer.drain()
        await asyncio.sleep(0)
    size = int.from_bytes(await asyncio.wait_for(reader.readexactly(2), 2), "big")
    assert dns.message.from_wire(await reader.readexactly(size)).answer
    writer.close()


async def test_an_idle_connection_is_closed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairway.dns.listeners._IDLE", 0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    writer.write(b"\0")
    assert await asyncio.wait_for(reader.read(), 2) == b""
    writer.close()


async def test_nonsense_over_tcp_ends_that_connection_only(world: World) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
    writer.write(b"\0\x05abcde")
    assert await asyncio.wait_for(reader.read(), 2) == b""
    writer.close()
    assert "10.96.4.1" in await world.dig("+tcp", WEB)


# ---- forwarding ----------------------------------------------------------------------------------------


async def test_other_names_are_asked_upstream_and_cached(world: World) -> None:
    for _ in range(3):
        assert "192.0.2.1" in await world.dig("host.up.test")
    assert world.upstream.asked == ["host.up.test."]


async def test_answers_cut_upstream_are_fetched_over_tcp(world: World) -> None:
    assert (await world.dig("big.up.test", "+bufsize=4096")).count("192.0.2.") == 100


async def test_every_question_upstream_leaves_from_a_port_of_its_own(world: World) -> None:
    for number in range(5):
        await world.udp(query(f"host-{number}.up.test"))
    assert len(world.upstream.sources) == 5


async def test_only_the_answer_that_belongs_to_the_question_is_taken(world: World) -> None:
    world.upstream.spoofed = True
    answer = dns.message.from_wire(await world.udp(query("spoof.up.test")))
    assert answer.answer[0].name.to_text() == "spoof.up.test."


async def test_a_closed_upstream_port_is_noticed_at_once() -> None:
    port = free_port()
    cluster = StaticCluster([])
    async with serving(f".:{port} {{\nforward . 127.0.0.1:1\n}}", cluster, port):
        begin = asyncio.get_running_loop().time()
        answer = await World(port, 0, cluster, Upstream()).udp(query("host.up.test"))
        assert dns.message.from_wire(answer).rcode() == 2
        assert asyncio.get_running_loop().time() - begin < 1


# ---- changes -------------------------------------------------------------------------------------------


async def test_changes_are_seen_by_the_next_question(world: World) -> None:
    service = {
        "kind": "Service",
        "metadata": {"name": "fresh", "namespace": "prod"},
        "spec": {"clusterIP": "10.96.9.9", "clusterIPs": ["10.96.9.9"], "ports": [{"port": 80}]},
    }
    asked = query("fresh.prod.svc.cluster.local")
    for _ in range(2):
        assert (await world.udp(asked))[3] & 15 == wire.NXDOMAIN
        world.cluster.change(service)
        assert (await world.udp(asked))[3] & 15 == wire.NOERROR
        world.cluster.change(service, gone=True)


async def test_headless_answers_come_in_changing_order(world: World) -> None:
    asked = query("hostnames.headless.svc.cluster.local")
    firsts = {(await world.udp(asked))[len(asked) + 12 : len(asked) + 16] for _ in range(60)}
    assert len(firsts) == 3


async def test_pages_tell_health_readiness_and_metrics(world: World) -> None:
    assert await world.page("/health") == (200, "OK")
    world.cluster.seen = False
    assert await world.page("/ready") == (503, "kubernetes")
    world.cluster.seen = True
    assert await world.page("/ready") == (200, "OK")
    await world.udp(query())
    status, text = await world.page("/metrics")
    assert status == 200
    where = f'server="dns://127.0.0.1:{world.port}",zone=".",view=""'
    assert f'coredns_dns_requests_total{{{where},proto="udp",family="1",type="A"}} 1' in text


async def test_until_the_cluster_was_seen_names_are_neither_found_nor_denied(world: World) -> None:
    world.cluster.seen = False
    assert (await world.udp(query()))[3] & 15 == wire.SERVFAIL
    assert (await world.udp(query("host.up.test")))[3] & 15 == wire.NOERROR
    world.cluster.seen = True
    assert (await world.udp(query()))[3] & 15 == wire.NOERROR


async def test_a_new_corefile_is_served_without_closing_the_port_and_a_wrong_one_is_not() -> None:
    port = free_port()
    cluster = StaticCluster(fixtures())
    block = f".:{port} {{{{\nkubernetes {{}} {{{{\nttl {{}}\n}}}}\n}}}}"
    texts = [block.format("cluster.local", 7)]
    async with serving(texts, cluster, port) as server:
        world = World(port, 0, cluster, Upstream())
        assert not await server.reload()
        texts.append(block.format("k8s.example", 9))
        assert await server.reload()
        assert dns.message.from_wire(await world.udp(query("web.prod.svc.k8s.example"))).answer[0].ttl == 9
        assert dns.message.from_wire(await world.udp(query())).rcode() == 2
        for wrong in (
            "nonsense {\n what\n}",
            f".:{port} {{\nautopath @kubernetes\nkubernetes cluster.local\n}}",
        ):
            texts.append(wrong)
            assert not await server.reload()
        assert dns.message.from_wire(await world.udp(query("web.prod.svc.k8s.example"))).answer
        assert len(cluster.zones) == 1


async def test_a_loop_of_forwarding_ends_the_server() -> None:
    port = free_port()
    failure: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
    text = f".:{port} {{\nloop\nforward . 127.0.0.1:{port}\n}}"
    async with serving(text, StaticCluster([]), port, on_failure=failure.set_result):
        assert "Loop" in str(await asyncio.wait_for(failure, 5))


async def test_a_flood_of_garbage_leaves_the_server_answering(world: World) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for size in range(600):
            sock.sendto(bytes(i * size % 256 for i in range(size)), ("127.0.0.1", world.port))
    assert (await world.udp(query()))[3] & 15 == wire.NOERROR


async def test_sockets_are_free_again_once_the_server_is_closed() -> None:
    port = free_port()
    for _ in range(2):
        async with serving(f".:{port} {{\nkubernetes cluster.local\n}}", StaticCluster([]), port):
            with pytest.raises(OSError, match="in use"):
                bound_socket("127.0.0.1", port, socket.SOCK_DGRAM)
