"""gRPC probes against a real gRPC server: etcd has the standard health service on its client port."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairway.nodeagent.objects import GrpcAction
from fairway.nodeagent.probes.checks import grpc

pytestmark = pytest.mark.skipif(shutil.which("etcd") is None, reason="needs etcd")


def free_ports(count: int) -> list[int]:
    opened = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in opened]
    for server in opened:
        server.close()
    return ports


@pytest.fixture
async def etcd_port(tmp_path: Path) -> AsyncIterator[int]:
    client, peer = free_ports(2)
    process = await asyncio.create_subprocess_exec(
        *("etcd", "--data-dir", str(tmp_path), "--log-level", "error"),
        *("--listen-client-urls", f"http://127.0.0.1:{client}"),
        *("--advertise-client-urls", f"http://127.0.0.1:{client}"),
        *("--listen-peer-urls", f"http://127.0.0.1:{peer}"),
        *("--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}"),
        *("--initial-cluster", f"default=http://127.0.0.1:{peer}"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield client
    finally:
        process.kill()
        await process.wait()


async def test_a_server_that_says_serving_passes_and_others_are_told_apart(etcd_port: int) -> None:
    complaint: str | None = "never asked"
    for _ in range(300):
        complaint = await grpc(GrpcAction(etcd_port), "127.0.0.1")
        if complaint is None:
            break
        await asyncio.sleep(0.1)
    assert complaint is None
    unknown = await grpc(GrpcAction(etcd_port, "no.such.Service"), "127.0.0.1")
    assert unknown == "the server does not answer grpc.health.v1 checks of service 'no.such.Service'"


async def test_what_is_not_grpc_or_not_there_fails() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        assert "not HTTP/2" in (await grpc(GrpcAction(port), "127.0.0.1") or "")
    assert "failed to check" in (await grpc(GrpcAction(port), "127.0.0.1") or "")
