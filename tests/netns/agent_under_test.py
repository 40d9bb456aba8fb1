"""The whole agent as its own process, against a real API server, in a namespace of its own.

The fixtures `cluster` and `client` are in `conftest`.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fairway.api.resources import CONFIG_MAPS, PODS, SERVICE_ACCOUNTS
from fairway.apiserver.certificates import Authority, write_private
from fairway.client import Client, NotFound
from tests.netns.node_under_test import NODE_IP

FAIRWAY = Path(sys.executable).parent / "fairway"
HOSTNAMES = {"name": "main", "image": "k8s.gcr.io/serve_hostname"}
needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")


@dataclass
class Cluster:
    """An API server and one node's agent, each a process."""

    data: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def kubeconfig(self) -> Path:
        return self.data / "api" / "kubeconfig"

    def start_api(self) -> None:
        self._start("apiserver", "--data", str(self.data / "api"), "--port", "6443", "--bind", "127.0.0.1")

    def start_agent(self) -> None:
        pki = self.data / "api" / "pki"
        pair = Authority.open(pki).issue("system:node:node-1", ("system:nodes",), (NODE_IP, "node-1"))
        certificate, key = self.data / "node.crt", self.data / "node.key"
        write_private(certificate, pair.certificate)
        write_private(key, pair.key)
        self._start(
            *("node", "--kubeconfig", str(self.kubeconfig), "--name", "node-1"),
            *("--pod-cidr", "10.244.7.0/24", "--node-ip", NODE_IP, "--data", str(self.data / "node")),
            *("--tls-cert-file", str(certificate), "--tls-private-key-file", str(key)),
            *("--client-ca-file", str(pki / "ca.crt")),
        )

    def _start(self, *words: str) -> None:
        with (self.data / f"{words[0]}.log").open("ab") as log:
            self.processes[words[0]] = subprocess.Popen([FAIRWAY, *words], stdout=log, stderr=log)

    def kill_agent(self) -> None:
        self.processes["node"].send_signal(signal.SIGKILL)
        self.processes.pop("node").wait()

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(10)


async def create(client: Client, name: str, container: dict[str, Any], **spec: Any) -> None:
    body = {"metadata": {"name": name}, "spec": {"nodeName": "node-1", "containers": [container], **spec}}
    await client.create(PODS, body, namespace="default")


async def create_account(client: Client) -> None:
    """What controllers make in every namespace."""
    await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default"}}, namespace="default")
    root = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": "the root"}}
    await client.create(CONFIG_MAPS, root, namespace="default")


async def pod_when(client: Client, name: str, condition: str) -> dict[str, Any]:
    """The Pod once that condition of it is true."""
    for _ in range(1500):
        pod = await client.get(PODS, name, namespace="default")
        conditions = (pod.get("status") or {}).get("conditions") or ()
        if any(c["type"] == condition and c["status"] == "True" for c in conditions):
            return pod
        await asyncio.sleep(0.01)
    raise AssertionError(f"{name} is not {condition}: {pod.get('status')}")


async def gone(client: Client, name: str) -> None:
    for _ in range(1500):
        try:
            await client.get(PODS, name, namespace="default")
        except NotFound:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{name} is still there")


async def kubectl(
    cluster: Cluster, *words: str, text: bytes = b"", program: str = "kubectl"
) -> tuple[int, bytes, bytes]:
    process = await asyncio.create_subprocess_exec(
        *(program, "--kubeconfig", str(cluster.kubeconfig), *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await asyncio.wait_for(process.communicate(text), 60)
    assert process.returncode is not None
    return process.returncode, output, errors
