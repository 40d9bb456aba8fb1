"""A node whose Lease goes stale: NotReady, its Pods out of the endpoints at once, evicted when they no longer
tolerate it, and made anew elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.api.resources import DEPLOYMENTS, ENDPOINT_SLICES, NODES, PODS, SERVICES
from fairway.client import Client, KubeConfig
from tests.component.control_plane import controllers, eventually, nodes
from tests.conformance.server import ApiServer, api_server

FLAGS = ("--node-monitor-period=500ms", "--node-monitor-grace-period=4s")
WEB = {"app": "web"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    folder = tmp_path_factory.mktemp("silence")
    with api_server(folder) as started, controllers(started.kubeconfig, folder / "controllers.log", *FLAGS):
        yield started


def deployment(tolerated: int) -> dict[str, Any]:
    tolerations = [
        {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute",
         "tolerationSeconds": tolerated} for state in ("unreachable", "not-ready")
    ]  # fmt: skip
    spec = {"containers": [{"name": "main", "image": "x"}], "tolerations": tolerations}
    template = {"metadata": {"labels": WEB}, "spec": spec}
    return {
        "metadata": {"name": "web"},
        "spec": {"replicas": 4, "selector": {"matchLabels": WEB}, "template": template},
    }


class Watcher:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def endpoints(self) -> dict[str, bool]:
        """Readiness by node and address."""
        slices = (await self._client.list(ENDPOINT_SLICES, namespace="default")).items
        return {
            f"{e['nodeName']} {e['addresses'][0]}": e["conditions"]["ready"]
            for item in slices
            if item["metadata"]["labels"].get("kubernetes.io/service-name") == "web"
            for e in item.get("endpoints") or ()
        }

    async def all_ready(self) -> bool:
        found = await self.endpoints()
        return len(found) == 4 and all(found.values()) and len({key.split()[0] for key in found}) == 2

    async def unready_on(self, node: str) -> bool:
        found = await self.endpoints()
        here = [ready for key, ready in found.items() if key.startswith(f"{node} ")]
        there = [ready for key, ready in found.items() if not key.startswith(f"{node} ")]
        return bool(here) and not any(here) and len(there) >= 2 and all(there)

    async def ready_only_on(self, node: str) -> bool:
        found = await self.endpoints()
        return sum(ready for key, ready in found.items() if key.startswith(f"{node} ")) == 4

    async def state(self, node: str) -> str:
        status = (await self._client.get(NODES, node))["status"]
        return next(str(c["status"]) for c in status["conditions"] if c["type"] == "Ready")

    async def is_unknown(self, node: str) -> bool:
        return await self.state(node) == "Unknown"


async def test_a_silent_node_loses_its_endpoints_at_once_and_its_pods_in_time(
    server: ApiServer, tmp_path: Path
) -> None:
    async with Client(KubeConfig.load(server.kubeconfig)) as client:
        await client.create(DEPLOYMENTS, deployment(tolerated=4), namespace="default")
        service = {"metadata": {"name": "web"}, "spec": {"selector": WEB, "ports": [{"port": 80}]}}
        await client.create(SERVICES, service, namespace="default")
        watcher = Watcher(client)
        async with nodes(server.kubeconfig, "one", "two") as (one, _two):
            await eventually(watcher.all_ready, "Pods on both nodes are ready endpoints")
            one.silent = True
            await eventually(lambda: watcher.unready_on("one"), "the silent node's endpoints are unready")
            assert await watcher.state("one") == "Unknown"
            taints = (await client.get(NODES, "one"))["spec"]["taints"]
            assert {t["effect"] for t in taints if t["key"].endswith("/unreachable")} == {
                "NoSchedule",
                "NoExecute",
            }
            assert len(await _on(client, "one", going=False)) == 2  # tolerated for now
            await eventually(lambda: watcher.ready_only_on("two"), "replacements run on the other node")
            assert len(await _on(client, "one", going=True)) == 2  # nobody there to end them
            one.silent = False
            await eventually(lambda: _none_on(client, "one"), "back again, the node ends what was to go")


async def _on(client: Client, node: str, *, going: bool) -> list[str]:
    pods = (await client.list(PODS, namespace="default", field_selector=f"spec.nodeName={node}")).items
    return [p["metadata"]["name"] for p in pods if ("deletionTimestamp" in p["metadata"]) is going]


async def _none_on(client: Client, node: str) -> bool:
    return not await _on(client, node, going=True)
