"""WATCH: nothing missed, nothing twice, and a clean end."""

from __future__ import annotations

import asyncio
from typing import Any

from .memory_server import MERGE, Server

MAPS = "/api/v1/namespaces/default/configmaps"


async def make(server: Server, name: str, **metadata: Any) -> str:
    answer = await server.ask("POST", MAPS, {"metadata": {"name": name, **metadata}})
    return str(answer.obj["metadata"]["resourceVersion"])


def kinds(events: list[Any]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


async def test_a_watch_from_a_revision_shows_all_that_came_after_it(server: Server) -> None:
    start = await make(server, "a")
    await make(server, "b")
    watch = await server.watch(f"{MAPS}?watch=1&resourceVersion={start}")
    assert kinds(await watch.some()) == [("ADDED", "b")]
    await server.ask("DELETE", f"{MAPS}/b")
    (event,) = await watch.some()
    assert (event["type"], event["object"]["metadata"]["resourceVersion"]) == (
        "DELETED",
        str(server.store.revision),
    )


async def test_a_watch_of_forgotten_times_is_told_so_in_the_stream(server: Server) -> None:
    start = await make(server, "a")
    await make(server, "b")
    await server.store.compact(server.store.revision)
    (event,) = await (await server.watch(f"{MAPS}?watch=1&resourceVersion={start}")).rest()
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    oldest = server.store.revision
    assert event["object"]["message"] == f"too old resource version: {start} ({oldest})"


async def test_a_watch_list_ends_the_state_with_a_bookmark_of_the_kind(server: Server) -> None:
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    watch = await server.watch(f"/api/v1/services?{query}")
    added, bookmark = await watch.some()
    assert added["type"] == "ADDED"
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"] == {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {
            "resourceVersion": str(server.store.revision),
            "annotations": {"k8s.io/initial-events-end": "true"},
        },
        "spec": {},
        "status": {"loadBalancer": {}},
    }


async def test_what_is_written_while_a_watch_begins_comes_after_its_bookmark(server: Server) -> None:
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    watch = await server.watch(f"{MAPS}?{query}")
    revision = await make(server, "late")
    (bookmark,) = await watch.some()
    assert int(bookmark["object"]["metadata"]["resourceVersion"]) < int(revision)
    assert kinds(await watch.some()) == [("ADDED", "late")]


async def test_bookmarks_of_metadata_watches_are_metadata(server: Server) -> None:
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    accept = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    (bookmark,) = await (await server.watch(f"{MAPS}?{query}", accept)).some()
    assert bookmark["object"]["kind"] == "PartialObjectMetadata"


async def test_a_watch_from_the_future_waits_for_it(server: Server) -> None:
    future = server.store.revision + 2
    watch = await server.watch(f"{MAPS}?watch=1&resourceVersion={future}")
    assert await watch.some() == []
    for name in ("a", "b", "c"):
        await make(server, name)
    assert kinds(await watch.some()) == [("ADDED", "c")]


async def test_crossing_a_selector_looks_like_coming_and_going(server: Server) -> None:
    start = await make(server, "a", labels={"x": "1"})
    await server.ask("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"x": "2"}}}, MERGE)
    await server.ask("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"x": "1"}}}, MERGE)
    watch = await server.watch(f"{MAPS}?watch=1&labelSelector=x%3D1&resourceVersion={start}")
    assert kinds(await watch.some()) == [("DELETED", "a"), ("ADDED", "a")]


async def test_a_server_that_stops_ends_its_watches_and_those_that_begin_too_late(server: Server) -> None:
    watch = await server.watch(f"{MAPS}?watch=1&resourceVersion={server.store.revision}")
    assert await watch.some() == []
    ending = asyncio.create_task(watch.rest())
    await asyncio.sleep(0)
    server.store.end_watches()
    assert await asyncio.wait_for(ending, 1) == []
    late = await server.watch(f"{MAPS}?watch=1&resourceVersion={server.store.revision}")
    assert await asyncio.wait_for(late.rest(), 1) == []


async def test_the_deprecated_paths_watch_one_object_or_all(server: Server) -> None:
    start = await make(server, "a")
    await make(server, "b")
    await server.ask("PATCH", f"{MAPS}/a", {"data": {"k": "1"}}, MERGE)
    path = "/api/v1/watch/namespaces/default/configmaps"
    one = await server.watch(f"{path}/a?resourceVersion={start}")
    assert kinds(await one.some()) == [("MODIFIED", "a")]
    everything = await server.watch(f"{path}?resourceVersion={start}")
    assert kinds(await everything.some()) == [("ADDED", "b"), ("MODIFIED", "a")]


async def test_a_watch_has_no_form_in_yaml(server: Server) -> None:
    answer = await server.ask("GET", f"{MAPS}?watch=1", headers={"accept": "application/yaml"})
    assert answer.status == 406
    assert "application/json;stream=watch" in answer.text
