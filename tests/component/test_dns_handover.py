"""Restarts and changes under load, and starts without an API server: real processes, asked by dnsperf."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import sys
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairway.api.resources import LEASES, SERVICES
from fairway.client import Client, KubeConfig
from fairway.dns import wire
from tests.component.dns_support import free_port
from tests.component.test_dns_cluster import ApiServer, api, ask, becomes, service  # noqa: F401

COREFILE = """\
.:{port} {{
    bind 127.0.0.1
    health 127.0.0.1:{pages} {{
        lameduck 1s
    }}
    ready 127.0.0.1:{pages}
    prometheus 127.0.0.1:{pages}
    kubernetes cluster.local in-addr.arpa {{
        pods insecure
        ttl {ttl}
    }}
    reload 2s 0s
    loadbalance
}}
"""
SECONDS = 6


class Dns:
    """`fairway dns` in a process of its own, on given ports."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self.port, self.pages = free_port(), free_port()
        self.conf = folder / "Corefile"
        self._data, self._kubeconfig = folder / "dns", kubeconfig
        self.write(ttl=5)

    def write(self, ttl: int) -> None:
        self.conf.write_text(COREFILE.format(port=self.port, pages=self.pages, ttl=ttl))

    async def start(self) -> asyncio.subprocess.Process:
        command = [str(Path(sys.executable).parent / "fairway"), "dns", "--conf", str(self.conf)]
        command += ["--kubeconfig", str(self._kubeconfig), "--data", str(self._data), "--name", "test"]
        return await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)

    async def page(self, path: str) -> str:
        def read() -> str:
            with contextlib.suppress(OSError):
                address = f"http://127.0.0.1:{self.pages}/{path}"
                return urllib.request.urlopen(address, timeout=5).read().decode()  # type: ignore[no-any-return]
            return ""

        return await asyncio.to_thread(read)

    async def until_ready(self) -> None:
        await self.until("ready", "OK")

    async def until(self, path: str, words: str) -> None:
        async with asyncio.timeout(60):
            while True:
                if words in await self.page(path):
                    return
                await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def ending(*processes: asyncio.subprocess.Process) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def load(port: int, folder: Path, mode: str = "udp") -> tuple[int, int, str]:
    """Asks for some seconds: how many were asked, how many got no answer, and the rcodes."""
    names = folder / f"names-{mode}"
    names.write_text("kubernetes.default.svc.cluster.local A\nweb.default.svc.cluster.local AAAA\n")
    command = ["dnsperf", "-s", "127.0.0.1", "-p", str(port), "-d", str(names), "-l", str(SECONDS)]
    command += ["-m", mode, "-Q", "2000", "-q", "50", "-c", "4"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    text = (await process.communicate())[0].decode()
    asked, lost = (int(re.findall(rf"Queries {word}:\s+(\d+)", text)[0]) for word in ("sent", "lost"))
    return asked, lost, re.findall(r"Response codes:\s+(.*)", text)[0]


needs_dnsperf = pytest.mark.skipif(shutil.which("dnsperf") is None, reason="dnsperf is not installed")


@needs_dnsperf
async def test_a_restart_under_load_loses_no_question(api: ApiServer, tmp_path: Path) -> None:  # noqa: F811
    dns = Dns(tmp_path, api.data / "kubeconfig")
    first = await dns.start()
    await dns.until_ready()
    async with Client(KubeConfig.load(api.data / "kubeconfig")) as client:
        await client.create(SERVICES, service("web"), namespace="default")
        await becomes(dns.port, "web.default.svc.cluster.local", wire.NOERROR)
        asking = [asyncio.create_task(load(dns.port, tmp_path, mode)) for mode in ("udp", "tcp")]
        await asyncio.sleep(1)
        second = await dns.start()
        async with ending(first, second):
            udp, tcp = await asyncio.gather(*asking)
            assert udp[0] > 1000
            assert udp[1:] == (0, f"NOERROR {udp[0]} (100.00%)")
            assert tcp[1:] == (0, f"NOERROR {tcp[0]} (100.00%)")
            # The old one ends by itself, and nothing of what is shared goes with it.
            assert await asyncio.wait_for(first.wait(), 60) == 0
            assert second.returncode is None
            assert await ask(dns.port, "web.default.svc.cluster.local") == (wire.NOERROR, 1)
            await dns.until_ready()
            assert await client.get(LEASES, "fairway-progress-dns-test", namespace="kube-system")


@needs_dnsperf
async def test_a_changed_corefile_comes_into_force_without_losing_a_question(
    api: ApiServer,  # noqa: F811
    tmp_path: Path,
) -> None:
    dns = Dns(tmp_path, api.data / "kubeconfig")
    process = await dns.start()
    async with ending(process), Client(KubeConfig.load(api.data / "kubeconfig")) as client:
        await dns.until_ready()
        await client.create(SERVICES, service("web"), namespace="default")
        await becomes(dns.port, "web.default.svc.cluster.local", wire.NOERROR)
        asking = asyncio.create_task(load(dns.port, tmp_path))
        await asyncio.sleep(0.5)
        dns.write(ttl=77)
        asked, lost, codes = await asking
        assert (lost, codes) == (0, f"NOERROR {asked} (100.00%)")
        async with asyncio.timeout(30):
            while True:
                if await ttl(dns.port) == 77:
                    break
                await asyncio.sleep(0.1)
        dns.conf.write_text("broken {")
        await asyncio.sleep(2.5)
        assert await ttl(dns.port) == 77


async def ttl(port: int) -> int:
    command = [
        "dig",
        "+noall",
        "+answer",
        "@127.0.0.1",
        "-p",
        str(port),
        "kubernetes.default.svc.cluster.local",
    ]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    return int((await process.communicate())[0].split()[1])


async def test_without_an_api_server_the_last_state_is_served_and_told(
    api: ApiServer,  # noqa: F811
    tmp_path: Path,
) -> None:
    dns = Dns(tmp_path, api.data / "kubeconfig")
    process = await dns.start()
    async with ending(process), Client(KubeConfig.load(api.data / "kubeconfig")) as client:
        await dns.until_ready()
        await client.create(SERVICES, service("web"), namespace="default")
        await becomes(dns.port, "web.default.svc.cluster.local", wire.NOERROR)
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 60) == 0
    await api.kill()
    process = await dns.start()
    async with ending(process):
        await dns.until("metrics", "fairway_dns_snapshot_in_use 1")
        await becomes(dns.port, "web.default.svc.cluster.local", wire.NOERROR)
        assert await ask(dns.port, "nope.default.svc.cluster.local") == (wire.NXDOMAIN, 0)
        assert await dns.page("ready") == ""
        await api.start()
        await dns.until_ready()
        async with Client(KubeConfig.load(api.data / "kubeconfig")) as client:
            await client.delete(SERVICES, "web", namespace="default")
        await becomes(dns.port, "web.default.svc.cluster.local", wire.NXDOMAIN)
        assert "fairway_dns_snapshot_in_use 0" in await dns.page("metrics")
