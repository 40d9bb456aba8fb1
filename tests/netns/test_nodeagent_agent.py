"""The whole agent as its own process, against a real API server, in a namespace of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fairway.api.resources import CONFIG_MAPS, ENDPOINT_SLICES, LEASES, NODES, PODS, SERVICE_ACCOUNTS
from fairway.apiserver.certificates import Authority, write_private
from fairway.client import ApiError, Client, KubeConfig, NotFound
from tests.netns.node_under_test import NODE_IP, clean_up, http_get, node_namespace, until

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


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with node_namespace():
        running = Cluster(tmp_path)
        running.start_api()
        try:
            yield running
        finally:
            running.stop()
            asyncio.run(clean_up(tmp_path / "node"))


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    await until(cluster.kubeconfig.exists, "the API server's kubeconfig")
    async with Client(KubeConfig.load(cluster.kubeconfig)) as opened:
        for _ in range(100):
            try:
                await opened.list(NODES)
                break
            except ApiError:
                await asyncio.sleep(0.1)
        await create_account(opened)
        cluster.start_agent()
        yield opened


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


async def kubectl(cluster: Cluster, *words: str, text: bytes = b"") -> tuple[int, bytes, bytes]:
    process = await asyncio.create_subprocess_exec(
        *("kubectl", "--kubeconfig", str(cluster.kubeconfig), *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await asyncio.wait_for(process.communicate(text), 20)
    assert process.returncode is not None
    return process.returncode, output, errors


async def test_the_node_registers_and_keeps_a_lease(cluster: Cluster, client: Client) -> None:
    await create(client, "web", HOSTNAMES)
    await pod_when(client, "web", "Ready")
    node = await client.get(NODES, "node-1")
    assert {a["type"]: a["address"] for a in node["status"]["addresses"]}["InternalIP"] == NODE_IP
    assert node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] == 10250
    assert {c["type"]: c["status"] for c in node["status"]["conditions"]}["Ready"] == "True"
    lease = await client.get(LEASES, "node-1", namespace="kube-node-lease")
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]


async def test_nothing_restarts_because_the_agent_was_killed(cluster: Cluster, client: Client) -> None:
    await create(client, "web", HOSTNAMES | {"readinessProbe": {"httpGet": {"port": 9376}}})
    before = (await pod_when(client, "web", "Ready"))["status"]
    cluster.kill_agent()
    assert await http_get(before["podIP"], 9376) == "web\n"
    cluster.start_agent()
    await create(client, "other", HOSTNAMES)
    await pod_when(client, "other", "Ready")
    after = (await client.get(PODS, "web", namespace="default"))["status"]
    assert after["containerStatuses"] == before["containerStatuses"]
    assert after["conditions"] == before["conditions"]
    assert await http_get(after["podIP"], 9376) == "web\n"


async def test_a_deleted_pod_goes_from_the_node_and_from_the_api(cluster: Cluster, client: Client) -> None:
    await create(client, "web", HOSTNAMES)
    await pod_when(client, "web", "Ready")
    await client.delete(PODS, "web", namespace="default")
    await gone(client, "web")
    assert list_folder(cluster.data / "node" / "pods") == []


def list_folder(folder: Path) -> list[str]:
    return os.listdir(folder)


# ---- exec and logs ---------------------------------------------------------------------------------------


@needs_kubectl
async def test_kubectl_exec_keeps_streams_apart_and_passes_input_and_exit_code(
    cluster: Cluster, client: Client
) -> None:
    await create(client, "web", HOSTNAMES)
    await pod_when(client, "web", "Ready")
    code, output, errors = await kubectl(
        cluster, "exec", "-i", "web", "--", "sh", "-c", "cat; echo problem >&2; exit 7", text=b"hello\n"
    )
    assert (code, output) == (7, b"hello\n")
    assert errors.startswith(b"problem\n")


@needs_kubectl
async def test_a_pod_has_the_token_of_its_service_account(cluster: Cluster, client: Client) -> None:
    await create(client, "web", HOSTNAMES)
    await pod_when(client, "web", "Ready")
    folder = "/var/run/secrets/kubernetes.io/serviceaccount"
    code, output, _ = await kubectl(
        cluster, "exec", "web", "--", "sh", "-c", f"cd {folder}; cat namespace ca.crt; wc -c < token"
    )
    assert code == 0
    assert output.startswith(b"defaultthe root")
    assert int(output.removeprefix(b"defaultthe root")) > 100


@needs_kubectl
async def test_kubectl_logs_shows_what_was_written_before_and_after_a_restart(
    cluster: Cluster, client: Client
) -> None:
    script = "echo one; echo two >&2; exit 1"
    await create(client, "crash", {"name": "main", "image": "busybox", "command": ["sh", "-c", script]})
    for _ in range(100):
        code, output, _ = await kubectl(cluster, "logs", "crash", "--previous")
        if code == 0:
            break
        await asyncio.sleep(0.1)
    assert sorted(output.splitlines()) == [b"one", b"two"]
    code, output, _ = await kubectl(cluster, "logs", "crash", "--tail=1", "--timestamps")
    assert code == 0
    assert len(output.splitlines()) == 1
    assert output.split(b" ")[0].endswith(b"Z")


@needs_kubectl
async def test_logs_of_a_running_container_that_said_nothing_are_empty(
    cluster: Cluster, client: Client
) -> None:
    await create(client, "quiet", HOSTNAMES)
    await pod_when(client, "quiet", "Ready")
    assert await kubectl(cluster, "logs", "quiet") == (0, b"", b"")


async def test_without_a_certificate_of_the_cluster_nobody_may_ask_the_agent(
    cluster: Cluster, client: Client
) -> None:
    await create(client, "web", HOSTNAMES)
    await pod_when(client, "web", "Ready")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await ask_without_certificate()


async def ask_without_certificate() -> bytes:
    """With TLS 1.3 a refusal arrives with the first answer, not with the handshake."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(NODE_IP, 10250, ssl=context)
    try:
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        if answer := await reader.read(64):
            return answer
        raise ConnectionResetError("closed without an answer")
    finally:
        writer.transport.abort()


# ---- draining --------------------------------------------------------------------------------------------


def lease_body(programmed: int) -> dict[str, Any]:
    metadata = {
        "name": "fairway-progress-node-9",
        "annotations": {"fairway.dev/programmed": str(programmed)},
    }
    return {
        "metadata": metadata,
        "spec": {"holderIdentity": "node-9", "renewTime": "2026-01-01T00:00:00.000000Z"},
    }


def slice_body(pod: dict[str, Any], ready: bool) -> dict[str, Any]:
    target = {"kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    return {
        "metadata": {"name": "web-1", "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": "IPv4",
        "ports": [{"name": "", "port": 80, "protocol": "TCP"}],
        "endpoints": [
            {"addresses": [pod["status"]["podIP"]], "conditions": {"ready": ready}, "targetRef": target}
        ],
    }


async def test_a_pod_is_told_to_end_only_when_every_proxy_knows(cluster: Cluster, client: Client) -> None:
    script = "trap 'exit 0' TERM; while :; do sleep 1000 & wait; done"
    await create(client, "web", {"name": "main", "image": "busybox", "command": ["sh", "-c", script]})
    pod = await pod_when(client, "web", "Ready")
    await client.create(LEASES, lease_body(1), namespace="kube-system")
    await client.create(ENDPOINT_SLICES, slice_body(pod, ready=True), namespace="default")
    await client.delete(PODS, "web", namespace="default")

    async def still_running() -> bool:
        await asyncio.sleep(0.4)
        status = (await client.get(PODS, "web", namespace="default"))["status"]
        return "running" in status["containerStatuses"][0]["state"]

    assert await still_running()
    patched = await client.patch(
        ENDPOINT_SLICES, "web-1", slice_body(pod, ready=False), namespace="default", kind="merge"
    )
    assert await still_running()
    revision = int(patched["metadata"]["resourceVersion"])
    await client.patch(
        LEASES, "fairway-progress-node-9", lease_body(revision), namespace="kube-system", kind="merge"
    )
    await asyncio.wait_for(gone(client, "web"), 1.5)


async def test_a_proxy_that_never_hears_delays_only_the_first_pod(cluster: Cluster, client: Client) -> None:
    names = ("one", "two")
    for name in names:
        await create(client, name, HOSTNAMES)
    pods = [await pod_when(client, name, "Ready") for name in names]
    await client.create(LEASES, lease_body(1), namespace="kube-system")
    took = []
    for pod in pods:
        body = slice_body(pod, ready=False)
        body["metadata"]["name"] = pod["metadata"]["name"]
        await client.create(ENDPOINT_SLICES, body, namespace="default")
        began = asyncio.get_running_loop().time()
        await client.delete(PODS, pod["metadata"]["name"], namespace="default")
        await gone(client, pod["metadata"]["name"])
        took.append(asyncio.get_running_loop().time() - began)
    assert 2.9 < took[0] < 6
    assert took[1] < 2
