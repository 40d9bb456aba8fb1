"""Recorded events reach the server in the background, repeated ones as a higher count."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from aiohttp import web

from fairway.api.objects import ObjectMeta
from fairway.api.resources import NODES, SERVICES
from fairway.client import Client, EventRecorder, reference

from .fake_api import FakeApi, status

WEB = reference(SERVICES, ObjectMeta(name="web", namespace="prod", uid="u", resource_version="1"))


@pytest.fixture
async def recorder(client: Client) -> AsyncIterator[EventRecorder]:
    recorder = EventRecorder(client, "lb", host="n1", now=lambda: datetime(2024, 1, 2, tzinfo=UTC))
    running = asyncio.create_task(recorder.run())
    yield recorder
    running.cancel()


def accept(api: FakeApi, count: int) -> None:
    api.answers = [web.json_response({}) for _ in range(count)]


async def test_an_event_names_its_object_and_its_source(api: FakeApi, recorder: EventRecorder) -> None:
    accept(api, 1)
    recorder.record(WEB, "NoPool", "no pool has a free address", kind="Warning")
    await recorder.flush()
    assert (api.seen[0].method, api.seen[0].path) == ("POST", "/api/v1/namespaces/prod/events")
    event = json.loads(api.seen[0].body)
    assert event["metadata"].pop("name").startswith("web.")
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "prod"},
        "involvedObject": {
            "kind": "Service",
            "apiVersion": "v1",
            "namespace": "prod",
            "name": "web",
            "uid": "u",
            "resourceVersion": "1",
        },
        "type": "Warning",
        "reason": "NoPool",
        "message": "no pool has a free address",
        "source": {"component": "lb", "host": "n1"},
        "reportingComponent": "lb",
        "reportingInstance": "n1",
        "firstTimestamp": "2024-01-02T00:00:00Z",
        "lastTimestamp": "2024-01-02T00:00:00Z",
        "count": 1,
    }


async def test_the_same_event_again_is_counted(api: FakeApi, recorder: EventRecorder) -> None:
    accept(api, 3)
    later = reference(SERVICES, ObjectMeta(name="web", namespace="prod", uid="u", resource_version="2"))
    recorder.record(WEB, "NoPool", "none")
    recorder.record(later, "NoPool", "none")
    recorder.record(WEB, "NoPool", "another")
    await recorder.flush()
    name = json.loads(api.seen[0].body)["metadata"]["name"]
    assert [request.method for request in api.seen] == ["POST", "PATCH", "POST"]
    assert api.seen[1].path == f"/api/v1/namespaces/prod/events/{name}"
    assert json.loads(api.seen[1].body)["count"] == 2


async def test_an_expired_event_is_written_anew(api: FakeApi, recorder: EventRecorder) -> None:
    api.answers = [web.json_response({}), status(404, "NotFound"), web.json_response({})]
    recorder.record(WEB, "NoPool", "none")
    recorder.record(WEB, "NoPool", "none")
    await recorder.flush()
    assert [request.method for request in api.seen] == ["POST", "PATCH", "POST"]
    assert json.loads(api.seen[2].body)["count"] == 1


async def test_events_about_nodes_go_to_default(api: FakeApi, recorder: EventRecorder) -> None:
    accept(api, 1)
    recorder.record(reference(NODES, ObjectMeta(name="n1")), "Ready", "node is ready")
    await recorder.flush()
    assert api.seen[0].path == "/api/v1/namespaces/default/events"


async def test_a_refused_event_is_given_up_and_the_next_one_written(
    api: FakeApi, recorder: EventRecorder
) -> None:
    api.answers = [status(403, "Forbidden"), web.json_response({})]
    recorder.record(WEB, "One", "")
    recorder.record(WEB, "Two", "")
    await recorder.flush()
    assert [json.loads(request.body)["reason"] for request in api.seen] == ["One", "Two"]


async def test_too_many_waiting_events_are_dropped_not_waited_for(client: Client) -> None:
    recorder = EventRecorder(client, "lb")
    for number in range(2000):
        recorder.record(WEB, "Flood", str(number))
