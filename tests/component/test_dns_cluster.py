"""The whole component against a real API server of ours: from a write there to an answer here."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fairway.api.resources import ENDPOINT_SLICES, LEASES, SERVICES
from fairway.client import Client, KubeConfig, NotFound
from fairway.dns import names, wire
from fairway.dns.config import Config
from fairway.dns.run import run
from fairway.dns.wire import Query
from tests.component.dns_support import free_port

COREFILE = """\
.:{port} {{
    bind 127.0.0.1
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {kubeconfig}
        pods verified
    }}
}}
"""


class ApiServer:
    """A process of its own, as it would be killed."""

    def __init__(self, data: Path, port: int, *options: str) -> None:
        self.data, self.port, self._options = data, port, options
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        command = [str(Path(sys.executable).parent / "fairway"), "apiserver"]
        command += ["--data", str(self.data), "--port", str(self.port), "--bind", "127.0.0.1", *self._options]
        self.process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
        async with asyncio.timeout(30):
            while True:
                if await self._listens():
                    return
                await asyncio.sleep(0.05)

    async def _listens(self) -> bool:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.close()
            return (self.data / "kubeconfig").exists()
        return False

    async def kill(self) -> None:
        if self.process and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


async def ask(port: int, name: str, rdtype: int = wire.A) -> tuple[int, int]:
    """The rcode and the number of answers."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        sock.connect(("127.0.0.1", port))
        await loop.sock_sendall(sock, wire.write_query(Query(7, names.from_text(name), rdtype)))
        answer = await asyncio.wait_for(loop.sock_recv(sock, 4096), 3)
    return answer[3] & 15, answer[6] << 8 | answer[7]


async def becomes(port: int, name: str, rcode: int, rdtype: int = wire.A) -> None:
    async with asyncio.timeout(10):
        while True:
            if (await ask(port, name, rdtype))[0] == rcode:
                return
            await asyncio.sleep(0.005)


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[ApiServer]:
    server = ApiServer(tmp_path / "data", free_port())
    await server.start()
    yield server
    await server.kill()


@contextlib.asynccontextmanager
async def running(config: Config, wait: bool = True) -> AsyncIterator[asyncio.Event]:
    ready = asyncio.Event()
    task = asyncio.create_task(run(config, ready.set))
    waiting = asyncio.create_task(ready.wait())
    if wait:
        await asyncio.wait((task, waiting), timeout=30, return_when=asyncio.FIRST_COMPLETED)
        assert ready.is_set()
    try:
        yield ready
    finally:
        waiting.cancel()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"ports": [{"port": 80, "name": "http"}], **spec},
    }


def endpoint_slice(name: str, *addresses: str) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": "default", "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [{"port": 80, "name": "http"}],
        "endpoints": [{"addresses": [address]} for address in addresses],
    }


async def test_the_server_follows_the_cluster_and_outlives_the_api_server(
    api: ApiServer, tmp_path: Path
) -> None:
    port = free_port()
    conf = tmp_path / "Corefile"
    conf.write_text(COREFILE.format(port=port, kubeconfig=api.data / "kubeconfig"))
    kubeconfig = api.data / "kubeconfig"
    config = Config(kubeconfig=kubeconfig, conf=conf, name="test")
    async with Client(KubeConfig.load(kubeconfig)) as client, running(config):
        assert await ask(port, "kubernetes.default.svc.cluster.local") == (0, 1)
        await client.create(SERVICES, service("web"), namespace="default")
        await client.create(SERVICES, service("set", clusterIP="None"), namespace="default")
        created = await client.create(
            ENDPOINT_SLICES, endpoint_slice("set", "10.244.0.1", "10.244.0.2"), namespace="default"
        )
        await becomes(port, "web.default.svc.cluster.local", wire.NOERROR)
        await becomes(port, "set.default.svc.cluster.local", wire.NOERROR)
        assert (await ask(port, "set.default.svc.cluster.local"))[1] == 2
        assert (await ask(port, "1.0.244.10.in-addr.arpa", wire.PTR)) == (0, 1)
        await published(client, int(created["metadata"]["resourceVersion"]))
        await client.delete(SERVICES, "web", namespace="default")
        await becomes(port, "web.default.svc.cluster.local", wire.NXDOMAIN)
        await api.kill()
        await asyncio.sleep(0.3)
        assert (await ask(port, "set.default.svc.cluster.local"))[1] == 2
        await api.start()
        await client.create(SERVICES, service("later"), namespace="default")
        await becomes(port, "later.default.svc.cluster.local", wire.NOERROR)
    async with Client(KubeConfig.load(kubeconfig)) as client:
        with pytest.raises(NotFound):
            await client.get(LEASES, "fairway-progress-dns-test", namespace="kube-system")


async def published(client: Client, revision: int) -> None:
    """Waits until the Lease tells that this revision is in force."""
    async with asyncio.timeout(5):
        while True:
            lease = await client.get(LEASES, "fairway-progress-dns-test", namespace="kube-system")
            if int(lease["metadata"]["annotations"]["fairway.dev/programmed"]) >= revision:
                return
            await asyncio.sleep(0.02)


async def test_without_an_api_server_nothing_is_denied_and_readiness_comes_with_it(
    api: ApiServer, tmp_path: Path
) -> None:
    port = free_port()
    conf = tmp_path / "Corefile"
    conf.write_text(COREFILE.format(port=port, kubeconfig=api.data / "kubeconfig"))
    await api.kill()
    config = Config(kubeconfig=api.data / "kubeconfig", conf=conf, publish_progress=False)
    async with running(config, wait=False) as ready:
        await asyncio.sleep(0.2)
        assert await ask(port, "kubernetes.default.svc.cluster.local") == (wire.SERVFAIL, 0)
        assert not ready.is_set()
        await api.start()
        await asyncio.wait_for(ready.wait(), 20)
        assert await ask(port, "kubernetes.default.svc.cluster.local") == (0, 1)
