"""The published documents hold what kubectl looks for in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from fairway.api import resources
from fairway.api.resources import Resource
from fairway.api.schema import definitions
from fairway.api.schema.openapi import OpenApi
from fairway.api.schema.operations import Served

EVERY = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
RESOURCES = [resource for resource in vars(resources).values() if isinstance(resource, Resource)]
SCALE = Served(resources.DEPLOYMENTS, ("get", "patch", "update"), "scale", ("autoscaling/v1", "Scale"))
EXEC = Served(resources.PODS, ("create",), "exec", ("v1", "PodExecOptions"))
Document = dict[str, Any]


@pytest.fixture(scope="module")
def openapi() -> OpenApi:
    return OpenApi([*(Served(resource, EVERY) for resource in RESOURCES), SCALE, EXEC])


@pytest.fixture(scope="module")
def v2(openapi: OpenApi) -> Document:
    document: Document = json.loads(openapi.v2)
    return document


def v3(openapi: OpenApi, path: str) -> Document:
    document: Document = json.loads(openapi.v3_group(path) or b"null")
    return document


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_every_reference_leads_somewhere(openapi: OpenApi, v2: Document) -> None:
    assert {ref.removeprefix("#/definitions/") for ref in references(v2)} <= v2["definitions"].keys()
    for path in json.loads(openapi.v3)["paths"]:
        document = v3(openapi, path)
        found = {ref.removeprefix("#/components/schemas/") for ref in references(document)}
        assert found <= document["components"]["schemas"].keys()


def test_the_index_lists_every_group_version_under_a_name_that_changes_with_its_content(
    openapi: OpenApi,
) -> None:
    paths = json.loads(openapi.v3)["paths"]
    assert paths.keys() == {resource.root.lstrip("/") for resource in RESOURCES}
    url = paths["apis/apps/v1"]["serverRelativeURL"]
    assert url == f"/openapi/v3/apis/apps/v1?hash={openapi.digest('apis/apps/v1')}"
    fewer = OpenApi([Served(resources.DEPLOYMENTS, ("get",))])
    assert fewer.digest("apis/apps/v1") != openapi.digest("apis/apps/v1")


def test_an_unknown_group_version_has_no_document(openapi: OpenApi) -> None:
    assert openapi.v3_group("apis/nowhere/v1") is None


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.qualified)
def test_kubectl_finds_that_the_server_validates_fields(
    openapi: OpenApi, v2: Document, resource: Resource
) -> None:
    kind = {"group": resource.group, "kind": resource.kind, "version": resource.version}
    for document in (v2, v3(openapi, resource.root.lstrip("/"))):
        patches = [
            item["patch"]
            for item in document["paths"].values()
            if item.get("patch", {}).get("x-kubernetes-group-version-kind") == kind
        ]
        assert patches
        for patch in patches:
            names = {parameter["name"] for parameter in patch["parameters"] if parameter["in"] == "query"}
            assert {"fieldValidation", "dryRun", "fieldManager"} <= names


def test_operations_follow_from_verbs(v2: Document) -> None:
    paths = v2["paths"]
    assert paths["/api/v1/namespaces/{namespace}/services"].keys() == {"parameters", "get", "post", "delete"}
    assert paths["/api/v1/namespaces/{namespace}/services/{name}"].keys() == {
        "parameters",
        "get",
        "put",
        "patch",
        "delete",
    }
    assert paths["/api/v1/services"].keys() == {"get"}
    assert "/api/v1/nodes/{name}" in paths
    only = json.loads(OpenApi([Served(resources.SERVICES, ("get",))]).v2)["paths"]
    assert {path: item.keys() - {"parameters"} for path, item in only.items()} == {
        "/api/v1/namespaces/{namespace}/services/{name}": {"get"}
    }


def test_a_subresource_may_have_a_kind_of_its_own(v2: Document) -> None:
    scale = v2["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]["put"]
    assert scale["x-kubernetes-group-version-kind"] == {
        "group": "autoscaling",
        "kind": "Scale",
        "version": "v1",
    }
    assert scale["operationId"] == "replaceAppsV1NamespacedDeploymentScale"


def test_what_has_no_shape_is_left_out(v2: Document) -> None:
    assert not any(path.endswith("/exec") for path in v2["paths"])


def test_operation_names_are_unique(v2: Document) -> None:
    names = [item[m]["operationId"] for item in v2["paths"].values() for m in item if m != "parameters"]
    assert len(set(names)) == len(names)


def test_definitions_carry_merge_keys_and_kinds(openapi: OpenApi, v2: Document) -> None:
    for schemas in (v2["definitions"], v3(openapi, "api/v1")["components"]["schemas"]):
        ports = schemas["io.k8s.api.core.v1.ServiceSpec"]["properties"]["ports"]
        assert ports["x-kubernetes-patch-merge-key"] == "port"
        assert ports["x-kubernetes-patch-strategy"] == "merge"
        assert ports["x-kubernetes-list-map-keys"] == ["port", "protocol"]
        assert schemas["io.k8s.api.core.v1.ServicePort"]["required"] == ["port"]
        kinds = schemas["io.k8s.api.core.v1.Service"]["x-kubernetes-group-version-kind"]
        assert kinds == [{"group": "", "kind": "Service", "version": "v1"}]


def test_descriptions_are_published_where_they_were_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"core.v1.ServiceSpec": {"": "about it", "ports": "its ports", "sessionAffinityConfig": "more"}}
    monkeypatch.setattr(definitions, "_descriptions", lambda: texts)
    openapi = OpenApi([Served(resources.SERVICES, EVERY)])
    spec = v3(openapi, "api/v1")["components"]["schemas"]["io.k8s.api.core.v1.ServiceSpec"]
    assert (spec["description"], spec["properties"]["ports"]["description"]) == ("about it", "its ports")
    assert spec["properties"]["sessionAffinityConfig"] == {
        "description": "more",
        "allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.SessionAffinityConfig"}],
    }
    assert b"its ports" in openapi.v2_protobuf


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Just enough protobuf to read the encoded document back: varints and delimited fields."""

    def varint(at: int) -> tuple[int, int]:
        number = shift = 0
        while True:
            number |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if data[at - 1] < 0x80:
                return number, at

    at = 0
    while at < len(data):
        tag, at = varint(at)
        size, at = varint(at)
        if tag & 7 == 2:
            yield tag >> 3, data[at : at + size]
            at += size
        else:
            yield tag >> 3, size


def test_the_gnostic_encoding_holds_the_same_definitions_and_paths(openapi: OpenApi, v2: Document) -> None:
    document = dict(fields(openapi.v2_protobuf))
    assert document[1] == b"2.0"
    definitions = {
        dict(fields(entry))[1].decode(): dict(fields(entry))[2] for _, entry in fields(document[9])
    }
    assert definitions.keys() == v2["definitions"].keys()
    port = dict(fields(definitions["io.k8s.api.core.v1.ServicePort"]))
    assert port[19] == b"port"
    properties = {dict(fields(entry))[1].decode() for _, entry in fields(port[25])}
    assert properties == v2["definitions"]["io.k8s.api.core.v1.ServicePort"]["properties"].keys()
    assert [dict(fields(entry))[1].decode() for _, entry in fields(document[8])] == list(v2["paths"])
