"""A real API server and the proxy as its own process on every node of a test network."""

from __future__ import annotations

import asyncio
import http.client
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from fairway.api.resources import ENDPOINT_SLICES, LEASES, SERVICES, Resource
from fairway.client import Client, KubeConfig, NotFound

from .topology import Namespace, Network, Pod, connect

T = TypeVar("T")
TARGET = 9376
PORT = 6443


class Process:
    """A `fairway` command inside a namespace, which can be killed and started again."""

    def __init__(self, where: Namespace, log: Path, *arguments: str) -> None:
        program = "from fairway.cli.main import main; main()"
        self._command = ["nsenter", f"--net={where.path}", sys.executable, "-c", program, *arguments]
        self._log = log
        self.start()

    def start(self, *more: str) -> None:
        """With more arguments than before, if any."""
        with self._log.open("ab") as output:
            self._process = subprocess.Popen([*self._command, *more], stdout=output, stderr=output)

    def wait(self) -> int:
        """How it ended."""
        return self._process.wait(60)

    def kill(self, number: int = signal.SIGKILL) -> None:
        self._process.send_signal(number)
        self._process.wait(60)


class Cluster:
    """`flags` are for the proxies."""

    def __init__(self, net: Network, folder: Path, *flags: str) -> None:
        self.net, self._folder, self._flags = net, folder, flags
        self.apiserver = Process(
            net.lan,
            folder / "apiserver.log",
            *("apiserver", "--data", str(folder), "--port", str(PORT), "--bind", "127.0.0.1,172.30.96.1"),
        )
        admin = folder / "kubeconfig"
        eventually(admin.exists)
        self.kubeconfig = folder / "remote.kubeconfig"
        self.kubeconfig.write_text(admin.read_text().replace("127.0.0.1", "172.30.96.1"))
        self.proxies = [self._proxy(node.name, node.namespace) for node in net.nodes]

    def _proxy(self, name: str, where: Namespace) -> Process:
        return Process(
            where,
            self._folder / f"{name}.log",
            *("proxy", "--kubeconfig", str(self.kubeconfig), "--hostname-override", name),
            *("--cluster-cidr", "10.244.0.0/16", *self._flags),
        )

    def call(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """As the administrator, from inside the LAN."""

        async def connected() -> T:
            async with Client(KubeConfig.load(self._folder / "kubeconfig"), component="test") as client:
                return await work(client)

        return self.net.lan.run(lambda: asyncio.run(connected()))

    def put(self, resource: Resource, obj: dict[str, Any]) -> int:
        """Create or replace; returns its revision."""

        async def work(client: Client) -> dict[str, Any]:
            meta = obj["metadata"]
            try:
                patch = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
                return await client.patch(resource, meta["name"], patch, namespace=meta.get("namespace"))
            except NotFound:
                whole = {"apiVersion": resource.api_version, "kind": resource.kind} | obj
                return await client.create(resource, whole, namespace=meta.get("namespace"))

        return int(self.call(work)["metadata"]["resourceVersion"])

    def service(self, name: str, ip: str, protocol: str = "TCP", **spec: Any) -> None:
        port = {"port": 80, "targetPort": TARGET, "protocol": protocol}
        meta = {"name": name, "namespace": "default"}
        self.put(SERVICES, {"metadata": meta, "spec": {"clusterIP": ip, "ports": [port]} | spec})

    def endpoints(
        self, name: str, pods: list[Pod], protocol: str = "TCP", zones: dict[str, str] | None = None
    ) -> int:
        hints = {pod: {"hints": {"forZones": [{"name": zone}]}} for pod, zone in (zones or {}).items()}
        meta = {
            "name": f"{name}-1",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": name},
        }
        entries = [
            {"addresses": [pod.ip], "conditions": {"ready": True}} | hints.get(pod.name, {}) for pod in pods
        ]
        ports = [{"name": "", "port": TARGET, "protocol": protocol}]
        return self.put(
            ENDPOINT_SLICES,
            {"metadata": meta, "addressType": "IPv4", "endpoints": entries, "ports": ports},
        )

    def progress(self, node: str) -> int:
        async def work(client: Client) -> int:
            lease = await client.get(LEASES, f"fairway-progress-{node}", namespace="kube-system")
            return int(lease["metadata"]["annotations"]["fairway.dev/programmed"])

        return self.call(work)

    def close(self) -> None:
        for process in (*self.proxies, self.apiserver):
            process.kill(signal.SIGTERM)


def eventually(check: Callable[[], object], within: float = 60.0) -> None:
    """Until it is true and raises nothing."""
    deadline = time.monotonic() + within
    while True:
        try:
            if check():
                return
            failure: Exception | None = None
        except Exception as error:
            failure = error
        if time.monotonic() > deadline:
            raise AssertionError("it never came true") from failure
        time.sleep(0.005)


def get(where: Namespace, host: str, port: int, path: str) -> tuple[int, dict[str, str], str]:
    """An HTTP request from inside a namespace: status, headers, body."""
    connection = http.client.HTTPConnection(host, port)
    connection.sock = connect(where, host, port)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()
