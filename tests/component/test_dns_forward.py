"""Forwarding to real servers: knot over UDP and TCP, servers that come and go, and DNS over TLS."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import shutil
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import dns.message
import dns.rrset
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fairway.dns import wire
from tests.component.dns_support import StaticCluster, free_port, serving
from tests.component.test_dns_cluster import ask

NAME = "www.example.test"
needs_knot = pytest.mark.skipif(shutil.which("knotd") is None, reason="knot is not installed")


class Knot:
    """knotd with one zone, whose answers tell the servers apart."""

    def __init__(self, folder: Path, addresses: int) -> None:
        self.port = free_port()
        self._folder = folder
        folder.mkdir()
        records = "".join(f"www 60 A 192.0.2.{n + 1}\n" for n in range(addresses))
        (folder / "zone").write_text(f"$ORIGIN example.test.\n@ 60 SOA ns host 1 60 60 60 60\n{records}")
        (folder / "conf").write_text(
            f"server:\n    listen: 127.0.0.1@{self.port}\n    rundir: {folder}\n    udp-workers: 1\n"
            f"    tcp-workers: 1\n    background-workers: 1\n    udp-max-payload: 1232\n"
            f"database:\n    storage: {folder}\n"
            f"zone:\n  - domain: example.test\n    file: {folder}/zone\n    zonefile-sync: -1\n"
        )
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            "knotd", "-c", str(self._folder / "conf"), stdout=-3, stderr=-3
        )
        await eventually(self.port, 0)

    async def stop(self) -> None:
        if self._process and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


async def eventually(port: int, rcode: int, count: int | None = None) -> None:
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(OSError, TimeoutError):
                got = await ask(port, NAME)
                if got[0] == rcode and count in (None, got[1]):
                    return
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def forwarding(to: str, *options: str) -> AsyncIterator[int]:
    port = free_port()
    inside = "".join(f"        {option}\n" for option in options)
    text = f".:{port} {{\n    forward . {to} {{\n{inside}    }}\n}}\n"
    async with serving(text, StaticCluster([]), port):
        yield port


@pytest.fixture
async def knots(tmp_path: Path) -> AsyncIterator[tuple[Knot, Knot]]:
    pair = Knot(tmp_path / "a", 1), Knot(tmp_path / "b", 2)
    for knot in pair:
        await knot.start()
    yield pair
    for knot in pair:
        await knot.stop()


@needs_knot
async def test_the_next_server_answers_while_one_is_down_and_the_first_again_when_it_is_back(
    knots: tuple[Knot, Knot],
) -> None:
    first, second = knots
    to = f"127.0.0.1:{first.port} 127.0.0.1:{second.port}"
    async with forwarding(to, "policy sequential", "health_check 100ms") as port:
        assert await ask(port, NAME) == (wire.NOERROR, 1)
        await first.stop()
        for _ in range(5):
            assert await ask(port, NAME) == (wire.NOERROR, 2)
        await first.start()
        await eventually(port, wire.NOERROR, 1)


@needs_knot
async def test_large_answers_come_over_tcp_where_the_client_can_take_them(tmp_path: Path) -> None:
    knot = Knot(tmp_path / "knot", 120)
    await knot.start()
    try:
        async with forwarding(f"127.0.0.1:{knot.port}", "prefer_udp") as port:
            assert await dig(port, "+tcp") == 120
            assert await dig(port, "+bufsize=4096") == 120
        async with forwarding(f"127.0.0.1:{knot.port}", "force_tcp") as port:
            assert await dig(port, "+bufsize=4096") == 120
    finally:
        await knot.stop()


async def dig(port: int, *options: str) -> int:
    """How many addresses dig shows."""
    command = ["dig", "+short", "+ignore", "+timeout=5", *options, "@127.0.0.1", "-p", str(port), NAME]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    return len((await process.communicate())[0].split())


# ---- DNS over TLS --------------------------------------------------------------------------------------


def certificate(folder: Path, name: str) -> Path:
    """A self-signed certificate for this name, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
    builder = builder.not_valid_after(now + datetime.timedelta(hours=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    made = builder.sign(key, hashes.SHA256())
    path = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return path


class TlsUpstream:
    """Answers every question with one address, over TLS; counts connections."""

    def __init__(self, pem: Path) -> None:
        self.port = free_port()
        self.connections = 0
        self.hang_up = False
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(pem)

    async def serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._talk, "127.0.0.1", self.port, ssl=self._context)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(EOFError, OSError):
            while True:
                size = int.from_bytes(await reader.readexactly(2), "big")
                query = dns.message.from_wire(await reader.readexactly(size))
                reply = dns.message.make_response(query, recursion_available=True)
                reply.answer.append(dns.rrset.from_text(query.question[0].name, 60, "IN", "A", "192.0.2.7"))
                data = reply.to_wire()
                writer.write(len(data).to_bytes(2, "big") + data)
                await writer.drain()
                if self.hang_up:
                    break
        writer.close()


async def test_questions_go_over_tls_on_connections_that_are_used_again(tmp_path: Path) -> None:
    pem = certificate(tmp_path, "dns.example")
    upstream = TlsUpstream(pem)
    server = await upstream.serve()
    options = (f"tls {pem}", "tls_servername dns.example")
    async with server, forwarding(f"tls://127.0.0.1:{upstream.port}", *options) as port:
        for _ in range(5):
            assert await ask(port, NAME) == (wire.NOERROR, 1)
        assert upstream.connections == 1
        upstream.hang_up = True
        for _ in range(3):
            assert await ask(port, NAME) == (wire.NOERROR, 1)


async def test_a_server_with_another_name_is_not_believed(tmp_path: Path) -> None:
    pem = certificate(tmp_path, "dns.example")
    upstream = TlsUpstream(pem)
    server = await upstream.serve()
    options = (f"tls {pem}", "max_fails 0")
    async with server, forwarding(f"tls://127.0.0.1:{upstream.port}%other.example", *options) as port:
        assert await ask(port, NAME) == (wire.SERVFAIL, 0)
