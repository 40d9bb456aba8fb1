"""DELETE: at once, with grace, held by finalizers; budgets that forbid an eviction."""

from __future__ import annotations

from typing import Any

import pytest

from .memory_server import MERGE, Server

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


async def make_pod(server: Server, **spec: Any) -> Any:
    await server.ask("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    container = {"name": "c", "image": "i"}
    body = {
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {"containers": [container], "automountServiceAccountToken": False, **spec},
    }
    answer = await server.ask("POST", PODS, body)
    assert answer.status == 201, answer.text
    return answer.obj


async def events_since(server: Server, revision: str) -> list[Any]:
    watch = await server.watch(f"{PODS}?watch=1&resourceVersion={revision}")
    return await watch.some()


async def test_a_pod_that_no_node_runs_is_marked_and_goes_at_once(server: Server) -> None:
    pod = await make_pod(server)
    answer = await server.ask("DELETE", f"{PODS}/p")
    assert answer.obj["metadata"]["deletionGracePeriodSeconds"] == 0
    events = await events_since(server, pod["metadata"]["resourceVersion"])
    assert [event["type"] for event in events] == ["MODIFIED", "DELETED"]


async def test_grace_can_only_be_shortened_counted_from_the_first_request(server: Server) -> None:
    await make_pod(server, nodeName="n1")
    first = (await server.ask("DELETE", f"{PODS}/p")).obj["metadata"]
    assert (first["deletionTimestamp"], first["deletionGracePeriodSeconds"]) == ("2026-01-01T00:00:30Z", 30)
    server.clock.advance(5)
    longer = (await server.ask("DELETE", f"{PODS}/p?gracePeriodSeconds=60")).obj["metadata"]
    assert longer["deletionGracePeriodSeconds"] == 30
    shorter = (await server.ask("DELETE", f"{PODS}/p?gracePeriodSeconds=10")).obj["metadata"]
    assert (shorter["deletionTimestamp"], shorter["deletionGracePeriodSeconds"]) == (
        "2026-01-01T00:00:10Z",
        10,
    )
    gone = await server.ask("DELETE", f"{PODS}/p?gracePeriodSeconds=0")
    assert gone.status == 200
    assert (await server.ask("GET", f"{PODS}/p")).status == 404


async def test_finalizers_hold_an_object_until_the_last_is_gone(server: Server) -> None:
    await server.ask("POST", MAPS, {"metadata": {"name": "a", "finalizers": ["x/y"]}})
    held = (await server.ask("DELETE", f"{MAPS}/a")).obj
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    again = (await server.ask("DELETE", f"{MAPS}/a")).obj
    assert again == held
    await server.ask("PATCH", f"{MAPS}/a", {"metadata": {"finalizers": None}}, MERGE)
    assert (await server.ask("GET", f"{MAPS}/a")).status == 404


@pytest.mark.parametrize(
    ("query", "status", "finalizers"),
    [
        ("propagationPolicy=Foreground", 200, ["foregroundDeletion"]),
        ("propagationPolicy=Orphan", 200, ["orphan"]),
        ("orphanDependents=true", 200, ["orphan"]),
        ("orphanDependents=false", 200, None),
        ("propagationPolicy=Background", 200, None),
    ],
)
async def test_dependents_are_dealt_with_as_asked(
    server: Server, query: str, status: int, finalizers: list[str] | None
) -> None:
    await server.ask("POST", MAPS, {"metadata": {"name": "a"}})
    answer = await server.ask("DELETE", f"{MAPS}/a?{query}")
    assert answer.status == status
    assert (answer.obj["metadata"] or {}).get("finalizers") == finalizers


async def test_a_deletion_in_the_background_by_the_old_name_is_accepted_while_it_is_held(
    server: Server,
) -> None:
    await server.ask("POST", MAPS, {"metadata": {"name": "a", "finalizers": ["x/y"]}})
    assert (await server.ask("DELETE", f"{MAPS}/a?orphanDependents=false")).status == 202


async def test_replication_controllers_leave_their_pods_behind_unless_told_otherwise(server: Server) -> None:
    path = "/api/v1/namespaces/default/replicationcontrollers"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await server.ask("POST", path, {"metadata": {"name": "r"}, "spec": {"template": template}})
    answer = await server.ask("DELETE", f"{path}/r")
    assert answer.obj["metadata"]["finalizers"] == ["orphan"]


async def test_options_in_a_body_count_and_those_in_the_query_then_do_not(server: Server) -> None:
    await server.ask("POST", MAPS, {"metadata": {"name": "a"}})
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}
    await server.ask("DELETE", f"{MAPS}/a?propagationPolicy=Orphan", body)
    assert "finalizers" not in (await server.ask("GET", f"{MAPS}/a")).obj["metadata"]


async def test_a_namespace_only_begins_to_end_and_some_never_do(server: Server) -> None:
    await server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "x"}})
    answer = await server.ask("DELETE", "/api/v1/namespaces/x")
    assert answer.obj["status"]["phase"] == "Terminating"
    assert "deletionGracePeriodSeconds" not in answer.obj["metadata"]
    refused = await server.ask("POST", "/api/v1/namespaces/x/configmaps", {"metadata": {"name": "a"}})
    assert (refused.status, refused.obj["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    assert (await server.ask("DELETE", "/api/v1/namespaces/default")).status == 403


async def test_a_collection_is_gone_when_its_deletion_is_answered(server: Server) -> None:
    for name in "abc":
        await server.ask(
            "POST", MAPS, {"metadata": {"name": name, "labels": {"in": str(name != "c").lower()}}}
        )
    answer = await server.ask("DELETE", f"{MAPS}?labelSelector=in%3Dtrue")
    assert [item["metadata"]["name"] for item in answer.obj["items"]] == ["a", "b"]
    left = await server.ask("GET", MAPS)
    assert [item["metadata"]["name"] for item in left.obj["items"]] == ["c"]


async def budget(server: Server, **status: Any) -> None:
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    await server.ask("POST", path, {"metadata": {"name": "b"}, "spec": spec})
    await server.ask("PATCH", f"{path}/b/status", {"status": {"observedGeneration": 1, **status}}, MERGE)


async def evict(server: Server) -> Any:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    return await server.ask("POST", f"{PODS}/p/eviction", body)


async def run_pod(server: Server, ready: str) -> None:
    await make_pod(server, nodeName="n1")
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
    await server.ask("PATCH", f"{PODS}/p/status", {"status": status}, MERGE)


async def test_a_budget_without_disruptions_left_forbids_an_eviction(server: Server) -> None:
    await run_pod(server, "True")
    await budget(server, disruptionsAllowed=0, currentHealthy=1, desiredHealthy=1)
    answer = await evict(server)
    assert (answer.status, answer.obj["reason"]) == (429, "TooManyRequests")
    assert not any(name == "Retry-After" for name, _ in answer.headers)


async def test_an_eviction_that_a_budget_allows_is_counted_and_says_why_the_pod_goes(server: Server) -> None:
    await run_pod(server, "True")
    await budget(server, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1)
    assert (await evict(server)).status == 201
    status = (await server.ask("GET", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b")).obj[
        "status"
    ]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["p"])
    conditions = (await server.ask("GET", f"{PODS}/p")).obj["status"]["conditions"]
    assert [c["reason"] for c in conditions if c["type"] == "DisruptionTarget"] == ["EvictionByEvictionAPI"]


async def test_a_pod_that_is_not_ready_may_go_if_the_healthy_ones_suffice(server: Server) -> None:
    await run_pod(server, "False")
    await budget(server, disruptionsAllowed=0, currentHealthy=1, desiredHealthy=1)
    assert (await evict(server)).status == 201
