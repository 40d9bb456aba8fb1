"""Two controller processes: the second takes over when the first is killed, and nothing is done twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairway.api.resources import DEPLOYMENTS, ENDPOINT_SLICES, LEASES, PODS, REPLICA_SETS, SERVICES
from fairway.client import Client, KubeConfig
from tests.component.control_plane import controllers, eventually
from tests.conformance.server import ApiServer, api_server

ELECTION = (
    "--leader-elect",
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=500ms",
)
DEPLOYMENTS_MADE = 12
REPLICAS = 5


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("failover")) as started:
        yield started


def deployment(name: str) -> dict[str, object]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


async def holder(client: Client) -> str:
    leases = (await client.list(LEASES, namespace="kube-system")).items
    found = [
        o["spec"].get("holderIdentity", "") for o in leases if o["metadata"]["name"] == "fairway-controllers"
    ]
    return str(found[0]) if found else ""


async def test_a_killed_leader_is_succeeded_within_its_lease_and_nothing_is_done_twice(
    server: ApiServer, tmp_path: Path
) -> None:
    async with Client(KubeConfig.load(server.kubeconfig)) as client:
        with (
            controllers(server.kubeconfig, tmp_path / "a.log", *ELECTION, "--identity=a") as first,
            controllers(server.kubeconfig, tmp_path / "b.log", *ELECTION, "--identity=b") as second,
        ):
            leader = await eventually(lambda: holder(client), "one leads")
            made = [asyncio.create_task(_ask_for(client, f"d{i}")) for i in range(DEPLOYMENTS_MADE)]
            await eventually(lambda: _some_pods(client), "the leader is in the middle of its work")
            (first if leader == "a" else second).kill()
            await asyncio.gather(*made)
            await eventually(lambda: _taken_over(client, leader), "the other leads")
            await eventually(lambda: _complete(client), "all replicas and slices are there")
            await asyncio.sleep(1)
            await _nothing_is_there_twice(client)


async def _ask_for(client: Client, name: str) -> None:
    await client.create(DEPLOYMENTS, deployment(name), namespace="default")
    spec = {"selector": {"app": name}, "ports": [{"port": 80}]}
    await client.create(SERVICES, {"metadata": {"name": name}, "spec": spec}, namespace="default")


async def _some_pods(client: Client) -> bool:
    return len((await client.list(PODS, namespace="default")).items) > REPLICAS


async def _taken_over(client: Client, before: str) -> bool:
    return await holder(client) not in ("", before)


async def _complete(client: Client) -> bool:
    pods = (await client.list(PODS, namespace="default")).items
    slices = (await client.list(ENDPOINT_SLICES, namespace="default")).items
    deployments = (await client.list(DEPLOYMENTS, namespace="default")).items
    told = all((d.get("status") or {}).get("replicas") == REPLICAS for d in deployments)
    return told and len(pods) >= DEPLOYMENTS_MADE * REPLICAS and len(slices) > DEPLOYMENTS_MADE


async def _nothing_is_there_twice(client: Client) -> None:
    pods = (await client.list(PODS, namespace="default")).items
    assert Counter(pod["metadata"]["labels"]["app"] for pod in pods) == {
        f"d{i}": REPLICAS for i in range(DEPLOYMENTS_MADE)
    }
    assert not [pod for pod in pods if "deletionTimestamp" in pod["metadata"]]
    sets = (await client.list(REPLICA_SETS, namespace="default")).items
    assert len(sets) == DEPLOYMENTS_MADE
    slices = (await client.list(ENDPOINT_SLICES, namespace="default")).items
    services = Counter(s["metadata"]["labels"]["kubernetes.io/service-name"] for s in slices)
    assert set(services.values()) == {1}
