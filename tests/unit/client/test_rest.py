"""What goes over the wire for each verb, and what each failure becomes."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from aiohttp import web

from fairway.api.objects import ObjectMeta, Service
from fairway.api.resources import NODES, PODS, SERVICES
from fairway.client import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Client,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KubeConfig,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from fairway.client.rest import PatchKind

from .fake_api import FakeApi, status

WEB: dict[str, Any] = {"metadata": {"name": "web", "namespace": "prod"}, "spec": {"clusterIP": "10.96.0.1"}}


@pytest.fixture
def answers(api: FakeApi) -> FakeApi:
    api.answers = [web.json_response(WEB)]
    return api


async def test_get_returns_a_dict_or_the_type_asked_for(api: FakeApi, client: Client) -> None:
    api.answers = [web.json_response(WEB), web.json_response(WEB)]
    assert await client.get(SERVICES, "web", namespace="prod") == WEB
    service = await client.get(SERVICES, "web", namespace="prod", type=Service)
    assert service.spec.cluster_ip == "10.96.0.1"
    assert api.seen[0].path == "/api/v1/namespaces/prod/services/web"
    assert api.seen[0].headers["user-agent"] == "fairway-test"


async def test_list_gives_items_and_the_revision_to_watch_from(api: FakeApi, client: Client) -> None:
    api.put("web", clusterIP="10.96.0.1")
    listing = await client.list(SERVICES, label_selector="a in (b,c)", type=Service)
    assert [service.metadata.name for service in listing.items] == ["web"]
    assert listing.resource_version == str(api.revision)
    assert api.seen[0].query == {"labelSelector": "a in (b,c)"}


async def test_a_list_with_null_items_is_empty(api: FakeApi, client: Client) -> None:
    api.answers = [web.json_response({"metadata": {"resourceVersion": "7"}, "items": None})]
    listing = await client.list(SERVICES)
    assert (listing.items, listing.resource_version) == ([], "7")


async def test_create_posts_to_the_namespace_of_the_object(answers: FakeApi, client: Client) -> None:
    assert await client.create(SERVICES, WEB) == WEB
    request = answers.seen[0]
    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/prod/services")
    assert json.loads(request.body) == WEB
    assert request.headers["content-type"] == "application/json"


async def test_update_puts_a_struct_where_its_metadata_says(answers: FakeApi, client: Client) -> None:
    service = Service(metadata=ObjectMeta(name="web", namespace="prod"))
    await client.update(SERVICES, service, subresource="status")
    request = answers.seen[0]
    assert (request.method, request.path) == ("PUT", "/api/v1/namespaces/prod/services/web/status")
    assert json.loads(request.body) == {"metadata": {"name": "web", "namespace": "prod"}}


@pytest.mark.parametrize(
    ("kind", "content_type"),
    [
        ("merge", "application/merge-patch+json"),
        ("strategic", "application/strategic-merge-patch+json"),
        ("json", "application/json-patch+json"),
        ("apply", "application/apply-patch+yaml"),
    ],
)
async def test_each_kind_of_patch_has_its_content_type(
    answers: FakeApi, client: Client, kind: PatchKind, content_type: str
) -> None:
    await client.patch(SERVICES, "web", {"a": 1}, namespace="prod", kind=kind)
    request = answers.seen[0]
    assert (request.method, request.headers["content-type"]) == ("PATCH", content_type)
    assert request.query == ({"fieldManager": "fairway-test"} if kind == "apply" else {})


async def test_apply_can_name_its_manager_and_force(answers: FakeApi, client: Client) -> None:
    await client.patch(NODES, "n1", {}, kind="apply", field_manager="me", force=True)
    assert answers.seen[0].query == {"fieldManager": "me", "force": "true"}


async def test_delete_sends_its_conditions(answers: FakeApi, client: Client) -> None:
    await client.delete(
        PODS, "p", namespace="prod", grace_period_seconds=0, propagation_policy="Orphan", uid="u-1"
    )
    assert answers.seen[0].method == "DELETE"
    assert json.loads(answers.seen[0].body) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Orphan",
        "preconditions": {"uid": "u-1"},
    }


async def test_request_returns_the_bytes_as_they_came(api: FakeApi, client: Client) -> None:
    api.answers = [web.Response(body=b"line\n\xff")]
    assert await client.request("GET", "/api/v1/x/log?tail=1", params={"follow": "no"}) == b"line\n\xff"
    assert api.seen[0].query == {"tail": "1", "follow": "no"}


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", BadRequest),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Expired),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (503, "ServiceUnavailable", Unavailable),
        (500, "InternalError", ApiError),
    ],
)
async def test_each_refusal_has_its_class_and_carries_the_status(
    api: FakeApi, client: Client, code: int, reason: str, expected: type[ApiError]
) -> None:
    api.answers = [status(code, reason, "why", kind="services")]
    with pytest.raises(ApiError) as caught:
        await client.get(SERVICES, "web", namespace="prod")
    error = caught.value
    assert type(error) is expected
    assert (error.status, error.reason, error.message) == (code, reason, "why")
    assert error.details["kind"] == "services"


async def test_an_answer_that_is_no_status_is_still_an_api_error(api: FakeApi, client: Client) -> None:
    api.answers = [web.Response(status=404, text="<h1>nothing here</h1>")]
    with pytest.raises(NotFound) as caught:
        await client.get(SERVICES, "web", namespace="prod")
    assert caught.value.message == "<h1>nothing here</h1>"


async def test_an_answer_that_is_no_json_is_an_api_error(api: FakeApi, client: Client) -> None:
    api.answers = [web.Response(text="hello")]
    with pytest.raises(ApiError, match="can't be read"):
        await client.get(SERVICES, "web", namespace="prod")


async def test_an_unreachable_server_is_unavailable(unused_tcp_port: int) -> None:
    async with Client(KubeConfig(server=f"http://127.0.0.1:{unused_tcp_port}")) as client:
        with pytest.raises(Unavailable) as caught:
            await client.get(SERVICES, "web", namespace="prod")
    assert caught.value.status == 0


async def test_a_server_that_never_answers_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = KubeConfig(server=f"http://127.0.0.1:{silent.getsockname()[1]}")
        async with Client(config, timeout=0.05) as client:
            with pytest.raises(Unavailable):
                await client.get(SERVICES, "web", namespace="prod")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("fairway.client.transport.sleep", wait)
    return waited


async def test_retry_after_is_obeyed(api: FakeApi, client: Client, waits: list[float]) -> None:
    busy = status(429, "TooManyRequests", retryAfterSeconds=2)
    overloaded = web.Response(status=503, headers={"Retry-After": "3"})
    api.answers = [busy, overloaded, web.json_response(WEB)]
    assert await client.get(SERVICES, "web", namespace="prod") == WEB
    assert waits == [2.0, 3.0]


async def test_retrying_ends_with_the_error(api: FakeApi, client: Client, waits: list[float]) -> None:
    api.answers = [status(429, "TooManyRequests", retryAfterSeconds=60) for _ in range(20)]
    with pytest.raises(TooManyRequests):
        await client.get(SERVICES, "web", namespace="prod")
    assert waits == [10.0] * 4


async def test_identity_headers_are_sent(api: FakeApi) -> None:
    config = KubeConfig(
        server=api.url, token="t0k", impersonate={"Impersonate-User": "jane", "Impersonate-Group": ["a"]}
    )
    api.answers = [web.json_response(WEB)]
    async with Client(config) as client:
        await client.get(SERVICES, "web", namespace="prod")
    headers = api.seen[0].headers
    assert headers["authorization"] == "Bearer t0k"
    assert (headers["impersonate-user"], headers["impersonate-group"]) == ("jane", "a")
