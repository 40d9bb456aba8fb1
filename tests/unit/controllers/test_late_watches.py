"""Controllers whose informers lag behind: nothing is made twice, and each write wakes the next in line."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.objects import Pod
from fairway.api.resources import (
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    ENDPOINTS,
    NODES,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    SERVICES,
)
from fairway.controllers.deployment.controller import DeploymentController
from fairway.controllers.endpoint.controller import EndpointController
from fairway.controllers.endpointslice.controller import EndpointSliceController
from fairway.controllers.loop import Loop
from fairway.controllers.replicaset.controller import ReplicaSetController
from fairway.controllers.replicationcontroller import controller as replicationcontroller
from fairway.controllers.scheduler.controller import Scheduler

from .fake_cluster import FakeClient, fake_cluster
from .objects import template


async def work(*loops: Loop) -> None:
    """Everything that waits, until nothing does."""
    for _ in range(100):
        busy = [loop for loop in loops if len(loop.queue)]
        if not busy:
            return
        for loop in busy:
            key = await loop.queue.get()
            await loop.look_at(key)
            loop.queue.done(key)
    raise AssertionError("the controllers keep each other busy for ever")


def web(kind: str, replicas: int) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop", "generation": 1},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template(),
        },
    }  # fmt: skip


def service() -> dict[str, Any]:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}], "clusterIP": "10.96.0.9"}
    return {"metadata": {"name": "web", "namespace": "shop"}, "spec": {**spec, "ipFamilies": ["IPv4"]}}


def running_pod(name: str, ip: str) -> dict[str, Any]:
    ready = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    return {
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "app:1"}], "nodeName": "n1"},
        "status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": ready},
    }


def made(client: FakeClient, what: str) -> int:
    return sum(call.startswith(f"create {what}") for call in client.calls)


async def test_replicas_are_made_once_however_late_the_watch() -> None:
    cluster, client = fake_cluster()
    controller = ReplicaSetController(cluster)
    client.put(REPLICA_SETS, web("ReplicaSet", 5))
    client.deliver()
    for _ in range(3):
        await work(controller.loop)
        controller.loop.add("shop/web")
    assert made(client, "pods") == 5
    client.deliver()
    await work(controller.loop)
    assert made(client, "pods") == 5
    assert client.all(REPLICA_SETS)[0]["status"]["replicas"] == 5


async def test_surplus_replicas_are_removed_once_however_late_the_watch() -> None:
    cluster, client = fake_cluster()
    controller = ReplicaSetController(cluster)
    client.put(REPLICA_SETS, web("ReplicaSet", 4))
    client.deliver()
    await work(controller.loop)
    client.deliver()
    client.put(REPLICA_SETS, {**client.all(REPLICA_SETS)[0], "spec": web("ReplicaSet", 1)["spec"]})
    client.deliver()
    for _ in range(3):
        await work(controller.loop)
        controller.loop.add("shop/web")
    assert len(client.all(PODS)) == 1


async def test_a_deployment_becomes_pods_without_waiting_for_any_watch() -> None:
    cluster, client = fake_cluster()
    deployments, sets = DeploymentController(cluster), ReplicaSetController(cluster)
    client.put(DEPLOYMENTS, web("Deployment", 3))
    client.deliver()
    await work(deployments.loop, sets.loop)
    assert (len(client.all(REPLICA_SETS)), len(client.all(PODS))) == (1, 3)
    assert client.all(DEPLOYMENTS)[0]["status"]["updatedReplicas"] == 3
    client.deliver()
    before = len(client.calls)
    await work(deployments.loop, sets.loop)
    assert client.calls[before:] == []


async def test_slices_and_endpoints_are_made_once_however_late_the_watch() -> None:
    cluster, client = fake_cluster()
    endpoints, slices = EndpointController(cluster), EndpointSliceController(cluster)
    client.put(NODES, {"metadata": {"name": "n1"}})
    client.put(PODS, running_pod("a", "10.0.0.1"))
    client.put(SERVICES, service())
    client.deliver()
    for _ in range(3):
        await work(endpoints.loop, slices.loop)
        endpoints.loop.add("shop/web")
        slices.loop.add("shop/web")
    assert (len(client.all(ENDPOINTS)), len(client.all(ENDPOINT_SLICES))) == (1, 1)
    (entry,) = client.all(ENDPOINT_SLICES)[0]["endpoints"]
    assert entry["addresses"] == ["10.0.0.1"]


async def test_a_pod_waits_for_its_node_to_be_an_endpoint() -> None:
    cluster, client = fake_cluster()
    slices = EndpointSliceController(cluster)
    client.put(PODS, running_pod("a", "10.0.0.1"))
    client.put(SERVICES, service())
    client.deliver()
    await work(slices.loop)
    assert client.all(ENDPOINT_SLICES)[0]["endpoints"] == []
    client.put(NODES, {"metadata": {"name": "n1"}})
    client.deliver()
    await work(slices.loop)
    assert len(client.all(ENDPOINT_SLICES)[0]["endpoints"]) == 1


@pytest.mark.parametrize("service_is_there", [True, False])
async def test_hand_made_endpoints_go_with_their_service_and_only_then(service_is_there: bool) -> None:
    cluster, client = fake_cluster()
    endpoints = EndpointController(cluster)
    bare = service()
    del bare["spec"]["selector"]
    if service_is_there:
        client.put(SERVICES, bare)
    client.put(ENDPOINTS, {"metadata": {"name": "web", "namespace": "shop"}, "subsets": []})
    client.deliver()
    await work(endpoints.loop)
    assert client.all(ENDPOINTS)
    if service_is_there:
        await client.delete(SERVICES, "web", namespace="shop")
        client.deliver()
        await work(endpoints.loop)
    assert bool(client.all(ENDPOINTS)) is not service_is_there


async def test_each_scheduling_decision_sees_the_ones_before_it() -> None:
    cluster, client = fake_cluster()
    scheduler = Scheduler(cluster)
    for name in ("n1", "n2"):
        client.put(NODES, {"metadata": {"name": name}})
    for name in ("a", "b", "c", "d"):
        unplaced = running_pod(name, "")
        del unplaced["spec"]["nodeName"]
        client.put(PODS, {**unplaced, "status": {"phase": "Pending"}})
    client.deliver()
    await work(scheduler.loop)
    nodes = sorted(pod["spec"]["nodeName"] for pod in client.all(PODS))
    assert nodes == ["n1", "n1", "n2", "n2"]


async def test_a_binding_that_fails_is_not_counted() -> None:
    cluster, client = fake_cluster()
    scheduler = Scheduler(cluster)
    client.put(NODES, {"metadata": {"name": "n1"}})
    unplaced = running_pod("a", "")
    del unplaced["spec"]["nodeName"]
    client.put(PODS, {**unplaced, "status": {"phase": "Pending"}})
    client.deliver()
    del client.objects[PODS, "shop/a"]  # gone, and nobody told us yet
    key = await scheduler.loop.queue.get()
    await scheduler.loop.look_at(key)
    (pod,) = cluster.cache(PODS, Pod)
    assert pod.spec.node_name == ""


async def test_a_pod_no_node_would_do_for_is_tried_again_when_one_comes() -> None:
    cluster, client = fake_cluster()
    scheduler = Scheduler(cluster)
    unplaced = running_pod("a", "")
    del unplaced["spec"]["nodeName"]
    client.put(PODS, {**unplaced, "status": {"phase": "Pending"}})
    client.deliver()
    await work(scheduler.loop)
    assert client.all(PODS)[0]["status"]["conditions"][0]["reason"] == "Unschedulable"
    client.put(NODES, {"metadata": {"name": "n1"}})
    client.deliver()
    await work(scheduler.loop)
    assert client.all(PODS)[0]["spec"]["nodeName"] == "n1"


async def test_a_replication_controller_is_run_like_a_replica_set() -> None:
    cluster, client = fake_cluster()
    controller = replicationcontroller.make(cluster)
    given = web("ReplicationController", 2)
    given["spec"]["selector"] = {"app": "web"}
    client.put(REPLICATION_CONTROLLERS, given)
    client.deliver()
    await work(controller.loop)
    owners = [pod["metadata"]["ownerReferences"][0]["kind"] for pod in client.all(PODS)]
    assert owners == ["ReplicationController"] * 2
