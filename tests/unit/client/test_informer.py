"""What an informer promises while the server ends, breaks, forgets or refuses watches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairway.api.objects import Service
from fairway.api.resources import SERVICES
from fairway.client import Client, Informer

from .fake_api import FakeApi, Follower, eventually, status

Follow = Callable[..., Awaitable[Follower]]


async def test_watch_list_fills_the_informer_without_a_list(api: FakeApi, follow: Follow) -> None:
    api.put("web", clusterIP="10.96.0.1")
    api.put("db", clusterIP="10.96.0.2")
    follower = await follow()
    assert {key: s.spec.cluster_ip for key, s in follower.informer.items().items()} == {
        "default/web": "10.96.0.1",
        "default/db": "10.96.0.2",
    }
    assert api.lists() == 0
    assert follower.informer.resource_version == api.revision


@pytest.mark.parametrize("manner", ["refuses", "ignores"])
async def test_server_without_watch_list_is_listed_then_watched(
    api: FakeApi, follow: Follow, manner: str
) -> None:
    api.watch_list = manner
    api.put("web")
    follower = await follow(initial_events_timeout=0.05)
    assert await follower.next_keys(1) == ["default/web"]
    await api.watched()
    api.put("db")
    assert await follower.next_keys(1) == ["default/db"]
    assert api.lists() == 1
    assert follower.delays == []


async def test_a_bookmark_without_the_end_mark_means_no_watch_list(api: FakeApi, follow: Follow) -> None:
    api.watch_list = "ignores"
    api.put("web")
    starting = asyncio.create_task(follow(initial_events_timeout=60))
    await api.watched()
    api.send(api.bookmark())
    follower = await starting
    assert follower.informer.get("default/web") is not None
    assert api.lists() == 1


async def test_changes_arrive_in_order_with_old_and_new(api: FakeApi, follow: Follow) -> None:
    follower = await follow()
    api.put("web", clusterIP="10.96.0.1")
    api.put("web", clusterIP="10.96.0.2")
    gone = api.remove("web")
    states = []
    for _ in range(3):
        key, old, new = await follower.next()
        assert key == "default/web"
        states.append((old and old.spec.cluster_ip, new and new.spec.cluster_ip))
    assert states == [(None, "10.96.0.1"), ("10.96.0.1", "10.96.0.2"), ("10.96.0.2", None)]
    assert follower.informer.resource_version == gone
    assert not follower.informer.items()


async def test_a_watch_that_ends_cleanly_resumes_where_it_was(api: FakeApi, follow: Follow) -> None:
    follower = await follow()
    seen = api.put("web")
    await follower.next()
    api.end_watches()
    api.put("db")
    assert await follower.next_keys(1) == ["default/db"]
    assert [watch.get("resourceVersion") for watch in api.watches()] == [None, str(seen)]
    assert api.lists() == 0
    assert follower.delays == []


async def test_a_broken_connection_resumes_after_a_pause(api: FakeApi, follow: Follow) -> None:
    follower = await follow()
    seen = api.put("web")
    await follower.next()
    api.break_watches()
    api.put("db")
    assert await follower.next_keys(1) == ["default/db"]
    assert api.watches()[-1]["resourceVersion"] == str(seen)
    assert len(follower.delays) == 1


async def test_a_bookmark_advances_the_revision_to_resume_from(api: FakeApi, follow: Follow) -> None:
    follower = await follow()
    api.revision = 5000
    api.send(api.bookmark())
    await eventually(lambda: follower.informer.resource_version == 5000)
    api.end_watches()
    api.put("web")
    await follower.next()
    assert api.watches()[-1]["resourceVersion"] == "5000"


async def test_expired_watch_relists_and_reports_what_vanished(api: FakeApi, follow: Follow) -> None:
    for name in ("keeps", "changes", "vanishes"):
        api.put(name, clusterIP="10.96.0.1")
    follower = await follow()
    await follower.next_keys(3)
    api.end_watches()
    api.remove("vanishes")
    api.put("changes", clusterIP="10.96.0.9")
    api.history.clear()
    api.oldest = api.revision
    key, old, new = await follower.next()
    assert (key, old is not None, new) == ("default/vanishes", True, None)
    key, old, new = await follower.next()
    assert key == "default/changes"
    assert old is not None
    assert new is not None
    assert (old.spec.cluster_ip, new.spec.cluster_ip) == ("10.96.0.1", "10.96.0.9")
    api.put("new")
    assert await follower.next_keys(1) == ["default/new"]
    assert set(follower.informer.items()) == {"default/keeps", "default/changes", "default/new"}


async def test_an_expired_error_event_relists_after_the_changes_before_it(
    api: FakeApi, follow: Follow
) -> None:
    api.put("web")
    follower = await follow()
    await follower.next()
    obj = {"metadata": {"name": "db", "namespace": "default", "resourceVersion": "102"}}
    error = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    api.send({"type": "ADDED", "object": obj}, {"type": "ERROR", "object": error})
    assert await follower.next_keys(2) == ["default/db", "default/db"]
    assert set(follower.informer.items()) == {"default/web"}
    assert api.watches()[-1]["sendInitialEvents"] == "true"


async def test_a_revision_from_the_future_relists(api: FakeApi, follow: Follow) -> None:
    api.put("web")
    follower = await follow()
    await follower.next()
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    api.answers = [status(504, "Timeout", "Too large resource version: 900", causes=causes)]
    api.objects.clear()
    api.revision = 7
    api.end_watches()
    assert await follower.next_keys(1) == ["default/web"]
    assert follower.informer.resource_version == 7


async def test_waits_grow_while_the_server_fails_and_start_over_after_success(
    api: FakeApi, follow: Follow
) -> None:
    api.answers = [status(500, "InternalError") for _ in range(5)]
    follower = await follow()
    first = list(follower.delays)
    assert len(first) == 5
    assert all(a < b for a, b in zip(first, first[2:], strict=False))
    api.put("web")
    await follower.next()
    api.break_watches()
    api.put("db")
    await follower.next()
    assert follower.delays[5] < first[1] * 1.5


async def test_a_server_that_ends_every_watch_at_once_is_not_hammered(api: FakeApi, follow: Follow) -> None:
    follower = await follow()
    for _ in range(3):
        await api.watched()
        known = set(api.watchers)
        api.end_watches()
        await eventually(lambda gone=known: not gone & set(api.watchers))
    await api.watched()
    assert len(follower.delays) == 3


async def test_a_handler_that_raises_does_not_stop_the_others(api: FakeApi, follow: Follow) -> None:
    follower = await follow()
    keys: list[str] = []

    def fails(key: str, old: Service | None, new: Service | None) -> None:
        raise RuntimeError(key)

    follower.informer.on_change(fails)
    follower.informer.on_change(lambda key, old, new: keys.append(key))
    api.put("web")
    api.put("db")
    await follower.next_keys(2)
    assert keys == ["default/web", "default/db"]


async def test_an_object_that_does_not_fit_the_type_is_skipped_alone(api: FakeApi, follow: Follow) -> None:
    api.put("bad", ports="none")
    api.put("good")
    follower = await follow()
    assert set(follower.informer.items()) == {"default/good"}
    api.put("bad", ports={})
    api.put("better")
    assert await follower.next_keys(2) == ["default/good", "default/better"]


async def test_a_late_handler_is_told_what_is_already_here(api: FakeApi, follow: Follow) -> None:
    api.put("web")
    follower = await follow()
    told: list[tuple[str, bool, bool]] = []
    follower.informer.on_change(lambda key, old, new: told.append((key, old is None, new is None)))
    assert told == [("default/web", True, False)]


async def test_an_index_follows_changes_and_deletions(api: FakeApi, follow: Follow) -> None:
    api.put("one", clusterIP="10.96.0.1")
    follower = await follow()
    await follower.next()
    informer = follower.informer
    informer.add_index("ip", lambda service: [service.spec.cluster_ip])
    assert [s.metadata.name for s in informer.by_index("ip", "10.96.0.1")] == ["one"]
    api.put("two", clusterIP="10.96.0.1")
    api.put("one", clusterIP="10.96.0.2")
    api.remove("two")
    await follower.next_keys(3)
    assert informer.by_index("ip", "10.96.0.1") == []
    assert [s.metadata.name for s in informer.by_index("ip", "10.96.0.2")] == ["one"]


async def test_selectors_and_namespace_reach_the_server(api: FakeApi, client: Client) -> None:
    informer: Informer[dict[str, Any]] = Informer(
        client,
        SERVICES,
        type=dict,
        namespace="prod",
        label_selector="a=b",
        field_selector="spec.type=NodePort",
    )
    running = asyncio.create_task(informer.run())
    await eventually(lambda: bool(api.seen))
    running.cancel()
    assert api.seen[0].path == "/api/v1/namespaces/prod/services"
    assert api.seen[0].query["labelSelector"] == "a=b"
    assert api.seen[0].query["fieldSelector"] == "spec.type=NodePort"


async def test_unchanged_objects_stay_silent_through_a_relist(api: FakeApi, follow: Follow) -> None:
    api.put("web")
    follower = await follow()
    await follower.next()
    api.oldest = api.revision = 5000
    api.end_watches()
    await asyncio.sleep(0)
    await eventually(lambda: follower.informer.resource_version == 5000)
    api.put("db")
    assert await follower.next_keys(1) == ["default/db"]
