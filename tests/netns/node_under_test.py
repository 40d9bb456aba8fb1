"""A node for tests: a network namespace of its own, and Pod workers in it that report to a fake API.

The test's main thread moves into the namespace, and with it every thread and process that the test starts.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

import msgspec

from fairway.api.objects import Service
from fairway.images.resolve import ImageResolver
from fairway.images.store import ImageStore
from fairway.kernel import namespaces
from fairway.kernel.netlink import Netlink, Route, inside, opened
from fairway.kernel.processes import bounding_set
from fairway.nodeagent.network.node_network import NodeNetwork
from fairway.nodeagent.network.pod_network import Networks, PodNetworks
from fairway.nodeagent.objects import Pod, TokenSource
from fairway.nodeagent.pods.environment import References
from fairway.nodeagent.pods.manager import PodManager
from fairway.nodeagent.pods.node_services import NodeServices
from fairway.nodeagent.pods.sandbox import NodeFacts
from fairway.nodeagent.pods.worker import PodWorker
from fairway.nodeagent.removal import node_cgroup, remove_all_pods
from fairway.nodeagent.runtime.capabilities import from_mask
from fairway.nodeagent.runtime.containers import ContainerRuntime

NODE_IP, LAN_IP = "172.31.96.11", "172.31.96.1"
_counter = iter(range(1 << 30))


@contextmanager
def node_namespace() -> Iterator[Path]:
    """Inside the block this thread is in a new namespace, with the node's address on a LAN.

    Gives the other namespace on that LAN, which has the address 172.31.96.1 and knows the way to Pods.
    """
    name = f"fwtest-na-{os.getpid()}-{next(_counter)}"
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    namespaces.create(name)
    lan = namespaces.create(f"{name}-lan")
    try:
        namespaces.enter(name)
        _connect(lan)
        yield lan
    finally:
        namespaces.enter_path(Path(f"/proc/self/fd/{home}"))
        os.close(home)
        namespaces.delete(name)
        namespaces.delete(f"{name}-lan")


def _connect(lan: Path) -> None:
    with opened() as netlink:
        netlink.add_veth("eth0", "eth0", lan)
        netlink.add_address("eth0", IPv4Interface(f"{NODE_IP}/24"))
        for device in ("lo", "eth0"):
            netlink.set_up(device)
    inside(lan, _configure_lan)


def _configure_lan(netlink: Netlink) -> None:
    netlink.add_address("eth0", IPv4Interface(f"{LAN_IP}/24"))
    for device in ("lo", "eth0"):
        netlink.set_up(device)
    netlink.put_route(Route(IPv4Network("10.244.0.0/16"), NODE_IP))


class FakeApi:
    """Remembers what workers tell the API server."""

    def __init__(self) -> None:
        self.statuses: dict[str, list[dict[str, Any]]] = {}
        self.deleted: list[str] = []
        self.events: list[tuple[str, str, str]] = []

    async def write_status(self, pod: Pod, status: dict[str, Any]) -> None:
        self.statuses.setdefault(pod.metadata.name, []).append(status)

    async def delete(self, pod: Pod) -> None:
        self.deleted.append(pod.metadata.name)

    def record(self, pod: Pod, reason: str, message: str, kind: str) -> None:
        self.events.append((pod.metadata.name, reason, message))


class FakeSources:
    def __init__(self) -> None:
        self.known_services: list[Service] = []
        self.known_references = References()

    async def services(self, namespace: str) -> list[Service]:
        return self.known_services

    async def references(self, pod: Pod) -> References:
        return self.known_references

    async def tokens(self, pod: Pod) -> dict[TokenSource, str]:
        return {}


class FakeDrain:
    def __init__(self) -> None:
        self.waited: list[str] = []

    async def wait(self, pod: Pod) -> None:
        self.waited.append(pod.metadata.name)


class Node:
    """Everything of an agent but the API server's side."""

    def __init__(
        self,
        data: Path,
        images: Path,
        never_masqueraded: tuple[str, ...] = (),
        networks: Networks | None = None,
    ) -> None:
        self.data = data
        self.api = FakeApi()
        self.sources = FakeSources()
        self.drain = FakeDrain()
        self.runtime = ContainerRuntime(data / "runtime")
        pods = PodNetworks(IPv4Network("10.244.7.0/24"))
        self.networks = networks or pods
        self.networks.remember(data / "pods")
        exceptions = tuple(map(IPv4Network, never_masqueraded))
        self.network = NodeNetwork("node-1", pods, exceptions, data)
        self.manager = PodManager(
            NodeServices(
                node_name="node-1",
                pods_folder=data / "pods",
                seccomp_folder=data / "seccomp",
                cgroup=node_cgroup(data),
                facts=NodeFacts(NODE_IP, ("10.96.0.10",), "cluster.local", Path("/dev/null")),
                node_capacity=(),
                capabilities=from_mask(bounding_set()),
                networks=self.networks,
                publish_ports=self.network.publish_ports,
                runtime=self.runtime,
                images=ImageResolver(ImageStore(images)),
                sources=self.sources,
                api=self.api,
                drain=self.drain,
                event=self.api.record,
            )
        )
        self._pods: dict[str, Pod] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Node]:
        """At the end the agent stops; its Pods go on."""
        await self.network.set_up()
        await self.network.refresh([])
        staying = asyncio.create_task(self.runtime.reaper.stay(self.manager.adopt_running))
        try:
            yield self
        finally:
            staying.cancel()
            await asyncio.gather(staying, return_exceptions=True)
            await self.manager.stop()

    def put(self, name: str, uid: str | None = None, **spec: Any) -> Pod:
        """Create a Pod, or change it if it is there."""
        uid = uid or f"00000000-0000-4000-8000-{os.getpid():06d}{next(_counter):06d}"
        spec.setdefault("terminationGracePeriodSeconds", 5)
        content = {"metadata": {"name": name, "namespace": "default", "uid": uid}, "spec": spec}
        return self.tell(msgspec.convert(content, Pod))

    def tell(self, pod: Pod) -> Pod:
        self.manager.on_change(pod.metadata.key, self._pods.get(pod.metadata.name), pod)
        self._pods[pod.metadata.name] = pod
        return pod

    def delete(self, name: str, grace: int | None = None) -> None:
        pod = self._pods[name]
        seconds = pod.spec.termination_grace_period_seconds if grace is None else grace
        meta = msgspec.structs.replace(
            pod.metadata, deletion_timestamp="now", deletion_grace_period_seconds=seconds
        )
        self.tell(msgspec.structs.replace(pod, metadata=meta))

    def vanish(self, name: str) -> None:
        pod = self._pods.pop(name)
        self.manager.on_change(pod.metadata.key, pod, None)

    def worker(self, name: str) -> PodWorker:
        worker = self.manager.find("default", name)
        assert worker is not None
        return worker

    def last_status(self, name: str) -> dict[str, Any]:
        return (self.api.statuses.get(name) or [{}])[-1]

    def is_ready(self, name: str) -> bool:
        conditions = self.last_status(name).get("conditions") or ()
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    def container(self, name: str, index: int = 0) -> dict[str, Any]:
        statuses = self.last_status(name).get("containerStatuses") or [{}]
        found: dict[str, Any] = statuses[index]
        return found

    async def ready(self, name: str) -> str:
        """Wait until the Pod reports that it is ready; returns its address."""
        await until(lambda: self.is_ready(name), f"{name} ready: {self.last_status(name)}")
        return str(self.last_status(name)["podIP"])

    async def gone(self, name: str) -> None:
        await until(lambda: self.manager.find("default", name) is None, f"{name} gone")

    async def inside(self, name: str, *command: str, container: str = "main") -> str:
        run = self.worker(name).runs.latest[container]
        done = await self.runtime.execute(run.id, command)
        assert done.exit_code == 0, done.errors
        return done.output.decode()

    def log(self, name: str, container: str = "main") -> str:
        runs = self.worker(name).runs
        return (runs.folder_of(container, runs.latest[container].attempt) / "log").read_text()


async def until(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still waiting: {what}"
        await asyncio.sleep(0.01)


async def http_get(address: str, port: int) -> str:
    reader, writer = await asyncio.wait_for(asyncio.open_connection(address, port), 3)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 3)
    writer.close()
    return answer.partition(b"\r\n\r\n")[2].decode()


async def clean_up(data: Path) -> None:
    await remove_all_pods(data)


def traces(data: Path) -> dict[str, list[str]]:
    """Everything a Pod could leave behind on this machine, by kind; empty lists where it left nothing."""
    links = subprocess.run(["ip", "-o", "link"], check=True, capture_output=True, text=True).stdout
    pods = data / "pods"
    uids = [folder.name for folder in pods.iterdir()] if pods.is_dir() else []
    runc_root = data / "runtime" / "runc"
    group = node_cgroup(data)
    return {
        "devices": [line for line in links.splitlines() if ": fw-" in line],
        "folders": uids,
        "mounts": [
            line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(data) in line
        ],
        "containers": [entry.name for entry in runc_root.iterdir()] if runc_root.is_dir() else [],
        "groups": [str(path) for path in Path("/sys/fs/cgroup").glob(f"*{group}/*") if path.is_dir()],
    }


def process_exists(pid: int) -> bool:
    """A zombie that only waits for init to take notice doesn't count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def command_lines() -> str:
    return subprocess.run(["ps", "-eo", "args"], check=True, capture_output=True, text=True).stdout


def hardware_address(device: str) -> str:
    line = subprocess.run(
        ["ip", "-o", "link", "show", device], check=True, capture_output=True, text=True
    ).stdout
    return line.split("link/ether ")[1].split()[0]
