"""LIST: states by revision, and pages that all show the state of the first."""

from __future__ import annotations

from typing import Any

from .memory_server import MERGE, Server

MAPS = "/api/v1/namespaces/default/configmaps"


async def make(server: Server, *names: str) -> None:
    for name in names:
        answer = await server.ask("POST", MAPS, {"metadata": {"name": name}, "data": {"v": "1"}})
        assert answer.status == 201


def names(listed: Any) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


async def test_pages_show_the_state_of_the_first_page_whatever_is_written_meanwhile(server: Server) -> None:
    await make(server, "a", "b", "c", "d")
    first = (await server.ask("GET", f"{MAPS}?limit=2")).obj
    await server.ask("DELETE", f"{MAPS}/c")
    await server.ask("PATCH", f"{MAPS}/d", {"data": {"v": "2"}}, MERGE)
    await make(server, "bb")
    second = (await server.ask("GET", f"{MAPS}?limit=2&continue={first['metadata']['continue']}")).obj
    assert names(second) == ["c", "d"]
    assert second["items"][1]["data"] == {"v": "1"}
    assert second["metadata"] == {"resourceVersion": first["metadata"]["resourceVersion"]}


async def test_a_page_says_how_many_follow_unless_selectors_hide_it(server: Server) -> None:
    await make(server, "a", "b", "c")
    assert (await server.ask("GET", f"{MAPS}?limit=1")).obj["metadata"]["remainingItemCount"] == 2
    narrowed = (await server.ask("GET", f"{MAPS}?limit=1&fieldSelector=metadata.name!=a")).obj
    assert names(narrowed) == ["b"]
    assert "remainingItemCount" not in narrowed["metadata"]
    assert "continue" in narrowed["metadata"]


async def test_a_token_of_forgotten_times_is_refused_with_one_that_goes_on_from_there(server: Server) -> None:
    await make(server, "a", "b", "c")
    first = (await server.ask("GET", f"{MAPS}?limit=1")).obj
    await make(server, "d")
    await server.store.compact(server.store.revision)
    refused = await server.ask("GET", f"{MAPS}?limit=1&continue={first['metadata']['continue']}")
    assert (refused.status, refused.obj["reason"]) == (410, "Expired")
    assert refused.obj["message"].startswith("The provided continue parameter is too old")
    fresh = refused.obj["metadata"]["continue"]
    assert names((await server.ask("GET", f"{MAPS}?continue={fresh}")).obj) == ["b", "c", "d"]


async def test_an_exact_revision_is_shown_as_it_was_and_refused_once_forgotten(server: Server) -> None:
    await make(server, "a")
    revision = server.store.revision
    await make(server, "b")
    path = f"{MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact"
    exact = (await server.ask("GET", path)).obj
    assert (names(exact), exact["metadata"]["resourceVersion"]) == (["a"], str(revision))
    await server.store.compact(server.store.revision)
    gone = await server.ask("GET", path)
    assert (gone.status, gone.obj["message"]) == (
        410,
        "The resourceVersion for the provided list is too old.",
    )


async def test_a_revision_without_more_means_that_or_a_newer_one(server: Server) -> None:
    await make(server, "a")
    revision = server.store.revision
    await make(server, "b")
    assert names((await server.ask("GET", f"{MAPS}?resourceVersion={revision}")).obj) == ["a", "b"]


async def test_any_state_comes_in_one_piece(server: Server) -> None:
    await make(server, "a", "b")
    whole = (await server.ask("GET", f"{MAPS}?resourceVersion=0&limit=1")).obj
    assert names(whole) == ["a", "b"]
    assert "continue" not in whole["metadata"]


async def test_a_state_that_never_comes_is_a_time_out_to_be_tried_again(
    server: Server, monkeypatch: Any
) -> None:
    monkeypatch.setattr("fairway.apiserver.freshness.PATIENCE", 0.01)
    answer = await server.ask("GET", f"{MAPS}?resourceVersion=999999")
    assert answer.status == 504
    assert answer.obj["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert ("Retry-After", "1") in answer.headers


async def test_tokens_that_are_none_are_refused_by_what_is_wrong_with_them(server: Server) -> None:
    for token, why in (
        ("a*b", "illegal base64 data at input byte 1"),
        ("e30", 'server does not recognize this encoded version ""'),
    ):
        answer = await server.ask("GET", f"{MAPS}?continue={token}")
        assert answer.status == 400
        assert answer.obj["message"] == f"invalid continue token: continue key is not valid: {why}"


async def test_selectors_that_do_not_exist_are_named_as_the_kind_names_them(server: Server) -> None:
    unknown = await server.ask("GET", f"{MAPS}?fieldSelector=data.a=b")
    only = 'only "metadata.name", "metadata.namespace"'
    assert unknown.obj["message"] == f'"data.a" is not a known field selector: {only}'
    services = await server.ask("GET", "/api/v1/services?fieldSelector=spec.color=red")
    assert services.obj["message"] == "field label not supported: spec.color"


async def test_numbers_in_a_query_are_read_even_where_they_do_not_matter(server: Server) -> None:
    for query in ("limit=", "timeoutSeconds=soon", "timeoutSeconds=", "limit=1.5"):
        answer = await server.ask("GET", f"{MAPS}?{query}")
        assert (answer.status, answer.obj["message"][:25]) == (400, "strconv.ParseInt: parsing"), query


async def test_a_negative_limit_of_a_deletion_is_none(server: Server) -> None:
    await make(server, "a", "b")
    assert (await server.ask("DELETE", f"{MAPS}?limit=-1")).status == 200
    assert names((await server.ask("GET", MAPS)).obj) == []
