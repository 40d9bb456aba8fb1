"""The official Python client's dynamic API, which learns from discovery what there is."""

from __future__ import annotations

import pytest
from kubernetes import client, dynamic

MERGE = "application/merge-patch+json"


@pytest.fixture(scope="module")
def kinds(api: client.ApiClient, tmp_path_factory: pytest.TempPathFactory) -> dynamic.DynamicClient:
    return dynamic.DynamicClient(api, cache_file=str(tmp_path_factory.mktemp("dynamic") / "cache.json"))


def test_the_dynamic_client_finds_kinds_and_writes_objects(
    kinds: dynamic.DynamicClient, namespace: str
) -> None:
    services = kinds.resources.get(api_version="v1", kind="Service")
    body = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    made = services.create(body={"apiVersion": "v1", "kind": "Service", **body}, namespace=namespace)
    assert made.spec.clusterIP
    patched = services.patch(
        name="web", namespace=namespace, body={"metadata": {"labels": {"a": "b"}}}, content_type=MERGE
    )
    assert patched.metadata.labels.a == "b"
    assert [item.metadata.name for item in services.get(namespace=namespace, label_selector="a=b").items] == [
        "web"
    ]
    slices = kinds.resources.get(api_version="discovery.k8s.io/v1", kind="EndpointSlice")
    assert slices.get(namespace=namespace).items == []
    services.delete(name="web", namespace=namespace)
    with pytest.raises(dynamic.exceptions.NotFoundError):
        services.get(name="web", namespace=namespace)


def test_the_dynamic_client_watches(kinds: dynamic.DynamicClient, namespace: str) -> None:
    maps = kinds.resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    maps.create(body=body, namespace=namespace)
    seen = [
        (event["type"], event["object"].metadata.name) for event in maps.watch(namespace=namespace, timeout=1)
    ]
    assert seen == [("ADDED", "settings")]


def test_server_side_apply_makes_and_owns_fields(kinds: dynamic.DynamicClient, namespace: str) -> None:
    maps = kinds.resources.get(api_version="v1", kind="ConfigMap")
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"color": "blue"},
    }
    made = kinds.server_side_apply(maps, body, "settings", namespace, field_manager="one")
    assert made.metadata.managedFields[0].manager == "one"
    with pytest.raises(dynamic.exceptions.ConflictError):
        kinds.server_side_apply(
            maps, {**body, "data": {"color": "red"}}, "settings", namespace, field_manager="two"
        )
