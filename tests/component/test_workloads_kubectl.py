"""Workloads as users meet them: kubectl, our API server and controllers, and nodes that say Pods run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.component.control_plane import Kubectl, Node, controllers, eventually, nodes
from tests.conformance import kubectl_versions
from tests.conformance.server import ApiServer, api_server

PROGRAM = kubectl_versions.current()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no kubectl")


@dataclass(frozen=True)
class Cluster:
    kubectl: Kubectl
    nodes: list[Node]
    namespace: str

    async def names(self, kind: str, *words: str) -> list[str]:
        found = await self.kubectl.get(kind, "-n", self.namespace, *words)
        return [item["metadata"]["name"] for item in found["items"]]

    async def run(self, *words: str) -> str:
        return await self.kubectl(*words, "-n", self.namespace)

    async def images(self) -> set[str]:
        found = await self.kubectl.get("pods", "-n", self.namespace)
        return {item["spec"]["containers"][0]["image"] for item in found["items"]}

    async def addresses(self, service: str) -> int:
        words = ("endpointslices", "-n", self.namespace, "-l", f"kubernetes.io/service-name={service}")
        found = await self.kubectl.get(*words)
        endpoints = [e for item in found["items"] for e in item.get("endpoints") or ()]
        return sum(e["conditions"]["ready"] for e in endpoints)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    folder = tmp_path_factory.mktemp("workloads")
    with api_server(folder) as started, controllers(started.kubeconfig, folder / "controllers.log"):
        yield started


@pytest.fixture
async def cluster(server: ApiServer, request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    assert PROGRAM
    kubectl = Kubectl(PROGRAM, server.kubeconfig)
    number = str(abs(hash(request.node.name)) % 10000)
    namespace = f"w-{number}"
    async with nodes(server.kubeconfig, f"n{number}-1", f"n{number}-2") as made:
        await kubectl("create", "namespace", namespace)
        yield Cluster(kubectl, made, namespace)
        await kubectl("delete", "namespace", namespace, "--wait=false")
    for node in made:
        await kubectl("delete", "node", node.name)


async def test_create_expose_scale(cluster: Cluster) -> None:
    await cluster.run("create", "deployment", "web", "--image=app:1", "--replicas=2", "--port=8080")
    await cluster.run("rollout", "status", "deployment/web", "--timeout=60s")
    await cluster.run("expose", "deployment", "web", "--port=80", "--target-port=8080")
    await eventually(lambda: _has_addresses(cluster, 2), "both Pods are endpoints")
    await cluster.run("scale", "deployment", "web", "--replicas=4")
    await cluster.run("rollout", "status", "deployment/web", "--timeout=60s")
    await eventually(lambda: _has_addresses(cluster, 4), "all four are")
    shown = await cluster.run("get", "deployment", "web", "--no-headers")
    assert shown.split()[:4] == ["web", "4/4", "4", "4"]


async def _has_addresses(cluster: Cluster, count: int) -> bool:
    return await cluster.addresses("web") == count


async def test_rollout_history_undo(cluster: Cluster) -> None:
    await cluster.run("create", "deployment", "web", "--image=app:1", "--replicas=2")
    await cluster.run("rollout", "status", "deployment/web", "--timeout=60s")
    await cluster.run("set", "image", "deployment/web", "app=app:2")
    done = await cluster.run("rollout", "status", "deployment/web", "--timeout=60s")
    assert 'deployment "web" successfully rolled out' in done
    assert await cluster.images() == {"app:2"}
    history = await cluster.run("rollout", "history", "deployment/web")
    assert [line.split()[0] for line in history.splitlines() if line[:1].isdigit()] == ["1", "2"]
    await cluster.run("rollout", "undo", "deployment/web")
    await cluster.run("rollout", "status", "deployment/web", "--timeout=60s")
    await eventually(lambda: _only(cluster, "app:1"), "the first image runs again")
    history = await cluster.run("rollout", "history", "deployment/web")
    assert [line.split()[0] for line in history.splitlines() if line[:1].isdigit()] == ["2", "3"]


async def _only(cluster: Cluster, image: str) -> bool:
    return await cluster.images() == {image}


async def test_pause_holds_a_rollout_until_resume(cluster: Cluster) -> None:
    await cluster.run("create", "deployment", "web", "--image=app:1", "--replicas=2")
    await cluster.run("rollout", "status", "deployment/web", "--timeout=60s")
    await cluster.run("rollout", "pause", "deployment/web")
    await cluster.run("set", "image", "deployment/web", "app=app:2")
    await eventually(lambda: _observed(cluster), "the controller has seen the change")
    assert await cluster.images() == {"app:1"}
    assert len(await cluster.names("replicasets")) == 1
    await cluster.run("rollout", "resume", "deployment/web")
    await cluster.run("rollout", "status", "deployment/web", "--timeout=60s")
    await eventually(lambda: _only(cluster, "app:2"), "the new image runs")


async def _observed(cluster: Cluster) -> bool:
    found = await cluster.kubectl.get("deployment", "web", "-n", cluster.namespace)
    return bool(found["status"]["observedGeneration"] == found["metadata"]["generation"])


@pytest.mark.parametrize("cascade", ["background", "foreground"])
async def test_with_a_deployment_go_its_replica_sets_and_pods(cluster: Cluster, cascade: str) -> None:
    await cluster.run("create", "deployment", "web", "--image=app:1", "--replicas=2")
    await cluster.run("rollout", "status", "deployment/web", "--timeout=60s")
    await cluster.run("delete", "deployment", "web", f"--cascade={cascade}", "--timeout=60s")
    if cascade == "foreground":
        assert await cluster.names("pods") == []
    await eventually(lambda: _nothing_left(cluster), "nothing is left")


async def _nothing_left(cluster: Cluster) -> bool:
    left = await asyncio.gather(*(cluster.names(kind) for kind in ("deployments", "replicasets", "pods")))
    return not any(left)


async def test_an_orphaned_replica_set_goes_on_and_is_adopted_by_the_next_deployment(
    cluster: Cluster,
) -> None:
    create = ("create", "deployment", "web", "--image=app:1", "--replicas=2")
    await cluster.run(*create)
    await cluster.run("rollout", "status", "deployment/web", "--timeout=60s")
    (before,) = await cluster.names("replicasets")
    pods = sorted(await cluster.names("pods"))
    await cluster.run("delete", "deployment", "web", "--cascade=orphan", "--timeout=60s")
    assert await cluster.names("replicasets") == [before]
    await cluster.run(*create)
    await cluster.run("rollout", "status", "deployment/web", "--timeout=60s")
    assert await cluster.names("replicasets") == [before]
    assert sorted(await cluster.names("pods")) == pods


async def test_a_stateful_set_is_rolled_back_by_undo(cluster: Cluster, tmp_path: Path) -> None:
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "app:1"}]}}
    spec = {"serviceName": "db", "replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    given = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}
    manifest = tmp_path / "set.json"
    manifest.write_text(json.dumps(given))
    await cluster.run("apply", "-f", str(manifest))
    await cluster.run("rollout", "status", "statefulset/db", "--timeout=60s")
    assert sorted(await cluster.names("pods")) == ["db-0", "db-1"]
    await cluster.run("set", "image", "statefulset/db", "main=app:2")
    await cluster.run("rollout", "status", "statefulset/db", "--timeout=60s")
    await cluster.run("rollout", "undo", "statefulset/db")
    await cluster.run("rollout", "status", "statefulset/db", "--timeout=60s")
    assert await cluster.images() == {"app:1"}


async def test_a_drained_node_waits_for_the_disruption_budget(cluster: Cluster) -> None:
    await cluster.run("create", "deployment", "web", "--image=app:1", "--replicas=2")
    await cluster.run("create", "pdb", "web", "--selector=app=web", "--min-available=1")
    await cluster.run("rollout", "status", "deployment/web", "--timeout=60s")
    await eventually(lambda: _may_go(cluster, 1), "one Pod may go")
    await cluster.run("drain", cluster.nodes[0].name, "--force", "--timeout=60s")
    found = await cluster.kubectl.get("pods", "-n", cluster.namespace)
    assert cluster.nodes[0].name not in {pod["spec"].get("nodeName") for pod in found["items"]}


async def _may_go(cluster: Cluster, count: int) -> bool:
    found = await cluster.kubectl.get("pdb", "web", "-n", cluster.namespace)
    return bool((found.get("status") or {}).get("disruptionsAllowed") == count)
