"""The whole agent as its own process, against a real API server: registration, restarts, logs, draining."""

from __future__ import annotations

import asyncio
import os
import ssl
from pathlib import Path
from typing import Any

import pytest

from fairway.api.resources import ENDPOINT_SLICES, LEASES, NODES, PODS
from fairway.client import Client
from tests.netns.agent_under_test import HOSTNAMES, Cluster, create, gone, kubectl, needs_kubectl, pod_when
from tests.netns.node_under_test import NODE_IP, http_get


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
