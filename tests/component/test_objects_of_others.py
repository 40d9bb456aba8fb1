"""Nothing is written to objects that others manage, however much happens around them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fairway.api.resources import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    ENDPOINTS,
    INGRESSES,
    NODES,
    PODS,
    REPLICA_SETS,
    SERVICES,
    Resource,
)
from fairway.client import Client, KubeConfig
from tests.component.control_plane import Controllers, controllers, eventually
from tests.conformance.server import ApiServer, api_server

MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
SERVICE_NAME = "kubernetes.io/service-name"
WEB = {"app": "web"}


def slice_(name: str, service: str, manager: str | None) -> dict[str, Any]:
    labels = {SERVICE_NAME: service} | ({MANAGED_BY: manager} if manager else {})
    endpoints = [{"addresses": ["192.0.2.7"], "conditions": {"ready": True}}]
    ports = [{"name": "", "port": 80, "protocol": "TCP"}]
    meta = {"name": name, "labels": labels}
    return {"metadata": meta, "addressType": "IPv4", "endpoints": endpoints, "ports": ports}


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def pod(name: str, **meta: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "x"}], "schedulerName": "theirs"}
    return {"metadata": {"name": name, **meta}, "spec": spec}


ANOTHER = {"apiVersion": "example.com/v1", "kind": "Crew", "name": "x", "uid": "u-1", "controller": True}
# Made before the controllers start, and looked at again in the end.
THEIRS: list[tuple[Resource, dict[str, Any]]] = [
    (ENDPOINT_SLICES, slice_("custom", "web", "mesh.example.com")),
    (ENDPOINT_SLICES, slice_("unlabelled", "web", None)),
    (ENDPOINT_SLICES, slice_("no-service", "nobody", "mesh.example.com")),
    (ENDPOINTS, {"metadata": {"name": "never-a-service"},
                 "subsets": [{"addresses": [{"ip": "192.0.2.8"}], "ports": [{"port": 80}]}]}),
    (ENDPOINTS, {"metadata": {"name": "by-hand"},
                 "subsets": [{"addresses": [{"ip": "192.0.2.9"}], "ports": [{"port": 80}]}]}),
    (SERVICES, service("by-hand")),
    (SERVICES, service("external", type="ExternalName", externalName="example.com", ports=None)),
    (SERVICES, service("balanced", type="LoadBalancer", loadBalancerClass="example.com/metal", selector=WEB)),
    (INGRESSES, {"metadata": {"name": "front"}, "spec": {"ingressClassName": "theirs", "defaultBackend": {
        "service": {"name": "web", "port": {"number": 80}}}}}),
    (PODS, pod("scheduled-elsewhere")),
    (PODS, pod("owned-by-others", labels=WEB, ownerReferences=[ANOTHER])),
    (REPLICA_SETS, {"metadata": {"name": "crew", "ownerReferences": [ANOTHER], "labels": WEB}, "spec": {
        "replicas": 0, "selector": {"matchLabels": {"app": "crew"}},
        "template": {"metadata": {"labels": {"app": "crew"}},
                     "spec": {"containers": [{"name": "main", "image": "x"}]}}}}),
    (CONFIG_MAPS, {"metadata": {"name": "settings"}, "data": {"a": "b"}}),
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("others")) as started:
        yield started


async def test_what_others_manage_is_left_as_it_is(
    server: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = tmp_path_factory.mktemp("log") / "controllers.log"
    async with Client(KubeConfig.load(server.kubeconfig)) as client:
        with controllers(server.kubeconfig, log, "--controllers=serviceaccount-controller"):
            await eventually(lambda: _accounts(client), "Pods can be made")
        for resource, obj in THEIRS:
            await client.create(resource, obj, namespace="default")
        before = await _revisions(client)
        with controllers(server.kubeconfig, log) as running:
            await _much_happens(client, running)
        after = await _revisions(client)
        changed = {key for key, revision in before.items() if after.get(key) != revision}
        # A ReplicaSet is run by its kind's controller whoever owns it, and has a status for that.
        assert changed == {"replicasets/crew"}


async def _accounts(client: Client) -> bool:
    found = (
        await client.list(Resource("", "v1", "serviceaccounts", "ServiceAccount"), namespace="default")
    ).items
    return bool(found)


async def _revisions(client: Client) -> dict[str, str]:
    found = {}
    for resource, obj in THEIRS:
        name = obj["metadata"]["name"]
        live = await client.get(resource, name, namespace="default")
        found[f"{resource.plural}/{name}"] = live["metadata"]["resourceVersion"]
    return found


async def _much_happens(client: Client, running: Controllers) -> None:
    """A Service over the same Pods, a Deployment with the same labels, a node; then all of it goes."""
    await client.create(NODES, {"metadata": {"name": "n1"}})
    await client.create(SERVICES, service("web", selector=WEB), namespace="default")
    template = {"metadata": {"labels": WEB}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": WEB}, "template": template}
    await client.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec}, namespace="default")
    await eventually(
        lambda: _slices_of(client, "web", 3), "the Service has a slice of its own beside the others"
    )
    await eventually(lambda: _slices_of(client, "by-hand", 1), "hand-made Endpoints are mirrored")
    await client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, namespace="default")
    await client.delete(DEPLOYMENTS, "web", namespace="default")
    await client.delete(SERVICES, "web", namespace="default")
    await eventually(lambda: _slices_of(client, "web", 2), "of the slices only those of others are left")
    assert running.process.poll() is None


async def _slices_of(client: Client, name: str, count: int) -> bool:
    found = await client.list(ENDPOINT_SLICES, namespace="default", label_selector=f"{SERVICE_NAME}={name}")
    return len(found.items) == count
