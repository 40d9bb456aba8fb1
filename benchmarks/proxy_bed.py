"""What the proxy benchmark measures on: a network in namespaces, an API server, `fairway proxy` on a node.

The proxy runs as it always does, but for two lines about when its informers were synced and when everything
was programmed, with the processor time it had used by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.netns.topology import Namespace, Network, network

from benchmarks.processes import memory, used
from benchmarks.proxy_traffic import NAME_PORT
from fairway.api.resources import ENDPOINT_SLICES, SERVICES
from fairway.client import Client, KubeConfig

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
PORT = 7443
_PROXY = """
import resource, sys, time
from fairway.proxy.programming import Programmer
from fairway.cli.main import main

def say(what):
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(what, time.monotonic(), used.ru_utime + used.ru_stime, flush=True)

original = Programmer.run

async def timed(self, ready=lambda: None):
    say("synced")
    await original(self, lambda: (say("programmed"), ready()))

Programmer.run = timed
main()
"""
_FAIRWAY = "from fairway.cli.main import main; main()"


@dataclass(frozen=True)
class Moment:
    """Seconds since the start, and of the processor until then."""

    wall: float
    used: float


@dataclass
class Proxy:
    """With its relay, in userspace mode."""

    process: subprocess.Popen[str]
    relay: int
    synced: Moment
    programmed: Moment

    @property
    def pids(self) -> list[int]:
        return [self.process.pid, self.relay] if self.relay else [self.process.pid]

    def memory(self) -> float:
        return sum(memory(pid) for pid in self.pids)

    def used(self) -> float:
        return sum(used(pid) for pid in self.pids)


@dataclass
class Bed:
    net: Network
    folder: Path
    services: int = 0

    @property
    def node(self) -> Namespace:
        return self.net.nodes[0].namespace

    @property
    def client(self) -> Namespace:
        """A Pod of the node, beside the backends."""
        return self.net.nodes[0].pods[-1].namespace

    @property
    def backends(self) -> list[str]:
        return [pod.ip for pod in self.net.nodes[0].pods[:2]]

    def address(self, number: int) -> str:
        """The virtual IP of a Service."""
        return f"10.96.{(number + 256) >> 8}.{(number + 256) & 255}"

    def call(self, work: Callable[[Client], Awaitable[T]]) -> T:
        async def connected() -> T:
            async with Client(KubeConfig.load(self.folder / "kubeconfig")) as client:
                return await work(client)

        return self.net.lan.run(lambda: asyncio.run(connected()))

    def grow(self, count: int) -> None:
        """Services up to that number, with two endpoints each; those of the last one really answer."""
        numbers = iter(range(self.services, count))

        async def fill(client: Client) -> None:
            async def worker() -> None:
                for number in numbers:
                    addresses = self.backends if number == count - 1 else _nobody(number)
                    await publish(client, f"s{number}", self.address(number), NAME_PORT, addresses)

            await asyncio.gather(*(worker() for _ in range(16)))

        self.call(fill)
        self.services = count

    @contextlib.contextmanager
    def proxy(self, mode: str) -> Iterator[Proxy]:
        """Started, and everything programmed; afterwards all its rules are gone."""
        arguments = ["proxy", "--kubeconfig", str(self.folder / "remote.kubeconfig"), "--proxy-mode", mode]
        arguments += ["--hostname-override", "node-1", "--cluster-cidr", "10.244.0.0/16"]
        begin = time.monotonic()
        process = self.start(self.node, "-c", _PROXY, *arguments)
        try:
            synced, programmed = (_moment(process, what, begin) for what in ("synced", "programmed"))
            yield Proxy(process, relay_process(self.node), synced, programmed)
        finally:
            process.terminate()
            process.wait(30)
            self.run(self.node, "-c", _FAIRWAY, "proxy", "--cleanup")

    def start(self, where: Namespace, *arguments: str) -> subprocess.Popen[str]:
        """A Python program in a namespace."""
        return subprocess.Popen(
            ["nsenter", f"--net={where.path}", sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )

    def run(self, where: Namespace, *arguments: str) -> str:
        process = self.start(where, *arguments)
        output, _ = process.communicate(timeout=300)
        if process.returncode:
            raise RuntimeError(f"{arguments} failed")
        return output

    def wait_for(self, address: str) -> None:
        """Until a virtual IP answers on port 80."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), self.client.socket() as opened:
                opened.connect((address, 80))
                return
            time.sleep(0.01)
        raise TimeoutError(f"{address} does not answer")

    def traffic(self, *arguments: str) -> Any:
        """From the client's namespace; the result as JSON."""
        return json.loads(self.run(self.client, "-m", "benchmarks.proxy_traffic", *arguments))


def _moment(process: subprocess.Popen[str], wanted: str, begin: float) -> Moment:
    assert process.stdout is not None
    line = process.stdout.readline().split()
    if not line or line[0] != wanted:
        raise RuntimeError(f"the proxy ended before it was {wanted}")
    return Moment(float(line[1]) - begin, float(line[2]))


def _nobody(number: int) -> list[str]:
    """Addresses in a range of Pods where nobody is."""
    first = 2 * number
    return [f"10.24{5 + (n >> 16)}.{n >> 8 & 255}.{n & 255}" for n in (first, first + 1)]


async def publish(client: Client, name: str, address: str, port: int, backends: list[str]) -> None:
    spec = {"clusterIP": address, "ports": [{"port": 80, "targetPort": port}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
    meta = {"name": f"{name}-x", "labels": {"kubernetes.io/service-name": name}}
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": meta,
        "addressType": "IPv4",
        "ports": [{"name": "", "port": port, "protocol": "TCP"}],
        "endpoints": entries(backends),
    }
    await client.create(SERVICES, service, namespace="default")
    await client.create(ENDPOINT_SLICES, endpoints, namespace="default")


async def move(client: Client, name: str, backends: list[str]) -> None:
    """To other endpoints."""
    await client.patch(ENDPOINT_SLICES, f"{name}-x", {"endpoints": entries(backends)}, namespace="default")


def entries(backends: list[str]) -> list[dict[str, Any]]:
    return [{"addresses": [ip], "nodeName": "node-1", "conditions": {"ready": True}} for ip in backends]


def relay_process(space: Namespace) -> int:
    """The relay of userspace mode in a namespace; 0 if there is none."""
    wanted = space.run(lambda: os.stat("/proc/thread-self/ns/net").st_ino)
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            if b"fairway.proxy.userspace.relay" in command and (entry / "ns/net").stat().st_ino == wanted:
                return int(entry.name)
    return 0


@contextlib.contextmanager
def bed() -> Iterator[Bed]:
    with tempfile.TemporaryDirectory(prefix="fairway-bench.") as folder, network() as net:
        node = net.add_node()
        for name in ("one", "two", "client"):
            net.add_pod(node, name, 1)
        made = Bed(net, Path(folder))
        with contextlib.ExitStack() as processes:
            for pod in node.pods[:2]:
                _until_exit(
                    processes, made.start(pod.namespace, "-m", "benchmarks.proxy_traffic", "serve", pod.name)
                )
            arguments = [
                "apiserver",
                "--data",
                folder,
                "--port",
                str(PORT),
                "--bind",
                "127.0.0.1,172.30.96.1",
            ]
            _until_exit(processes, made.start(net.lan, "-c", _FAIRWAY, *arguments))
            while not (made.folder / "kubeconfig").exists():
                time.sleep(0.01)
            remote = (made.folder / "kubeconfig").read_text().replace("127.0.0.1", "172.30.96.1")
            (made.folder / "remote.kubeconfig").write_text(remote)
            yield made


def _until_exit(stack: contextlib.ExitStack, process: subprocess.Popen[str]) -> None:
    def end() -> None:
        process.terminate()
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()

    stack.callback(end)
