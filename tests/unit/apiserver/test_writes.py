"""Creating, changing and applying: what is refused, what is kept, what is noted."""

from __future__ import annotations

from typing import Any

import pytest

from .memory_server import APPLY, MERGE, Server

MAPS = "/api/v1/namespaces/default/configmaps"
STRATEGIC = {"content-type": "application/strategic-merge-patch+json"}
JSON_PATCH = {"content-type": "application/json-patch+json"}


def config_map(name: str = "a", **rest: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **rest}


async def test_a_put_that_changes_nothing_keeps_the_version(server: Server) -> None:
    first = (await server.ask("POST", MAPS, config_map(data={"k": "1"}))).obj
    again = (await server.ask("PUT", f"{MAPS}/a?fieldManager=other", config_map(data={"k": "1"}))).obj
    assert again == first


async def test_a_stale_version_is_a_conflict_and_zero_means_any(server: Server) -> None:
    await server.ask("POST", MAPS, config_map())
    for version, status in (("1", 409), ("0", 200), ("", 200), ("x", 400)):
        body = {**config_map(data={"v": version}), "metadata": {"name": "a", "resourceVersion": version}}
        assert (await server.ask("PUT", f"{MAPS}/a", body)).status == status


async def test_kinds_that_demand_a_version_say_so_with_their_plural(server: Server) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    await server.ask("POST", leases, {"metadata": {"name": "l"}})
    answer = await server.ask("PUT", f"{leases}/l", {"metadata": {"name": "l"}, "spec": {}})
    assert answer.status == 422
    assert answer.obj["message"] == (
        'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0:'
        " must be specified for an update"
    )


async def test_a_uid_in_a_put_means_that_object_and_in_a_patch_is_fixed(server: Server) -> None:
    await server.ask("POST", MAPS, config_map())
    body = {**config_map(), "metadata": {"name": "a", "uid": "other"}}
    put = await server.ask("PUT", f"{MAPS}/a", body)
    assert put.status == 409
    assert "Precondition failed: UID in precondition: other" in put.obj["message"]
    patch = await server.ask("PATCH", f"{MAPS}/a", {"metadata": {"uid": "other"}}, MERGE)
    assert (patch.status, patch.obj["details"]["causes"][0]["field"]) == (422, "metadata.uid")


async def test_a_deletion_time_can_neither_be_set_nor_taken_back(server: Server) -> None:
    await server.ask("POST", MAPS, {**config_map(), "metadata": {"name": "a", "finalizers": ["x/y"]}})
    patch: Any = {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}
    assert (await server.ask("PATCH", f"{MAPS}/a", patch, MERGE)).status == 422
    await server.ask("DELETE", f"{MAPS}/a")
    patch = {"metadata": {"deletionTimestamp": None, "labels": {"x": "y"}}}
    assert "deletionTimestamp" in (await server.ask("PATCH", f"{MAPS}/a", patch, MERGE)).obj["metadata"]


async def test_a_taken_generated_name_is_tried_again_with_another(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffixes = iter(["aaaaa", "aaaaa", "aaaaa", "bbbbb"])
    monkeypatch.setattr("fairway.api.metadata.generated_name", lambda base: base + next(suffixes))
    body = {"metadata": {"generateName": "x-"}}
    made = [(await server.ask("POST", MAPS, body)).obj["metadata"]["name"] for _ in range(2)]
    assert made == ["x-aaaaa", "x-bbbbb"]


async def test_when_no_generated_name_is_free_the_client_is_asked_to_try_later(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairway.api.metadata.generated_name", lambda base: f"{base}same")
    body = {"metadata": {"generateName": "x-"}}
    await server.ask("POST", MAPS, body)
    answer = await server.ask("POST", MAPS, body)
    assert (answer.status, answer.obj["reason"]) == (409, "AlreadyExists")
    assert answer.obj["message"].endswith("not able to generate a unique name for the object")
    assert ("Retry-After", "1") in answer.headers


async def test_creating_what_is_being_deleted_says_so(server: Server) -> None:
    await server.ask("POST", MAPS, {**config_map(), "metadata": {"name": "a", "finalizers": ["x/y"]}})
    await server.ask("DELETE", f"{MAPS}/a")
    answer = await server.ask("POST", MAPS, config_map())
    assert answer.obj["message"] == 'object is being deleted: configmaps "a" already exists'


async def test_owners_given_twice_are_kept_once_with_a_warning(server: Server) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}
    answer = await server.ask(
        "POST", MAPS, {**config_map(), "metadata": {"name": "a", "ownerReferences": [owner, owner]}}
    )
    assert answer.obj["metadata"]["ownerReferences"] == [owner]
    assert "duplicate UID(s) observed: u1" in answer.warnings[0]


@pytest.mark.parametrize(
    ("headers", "patch", "why"),
    [
        (MERGE, {"data": {"a": 1}}, "json: cannot unmarshal number into Go struct field ConfigMap.data"),
        (STRATEGIC, {"data": {"a": 1}}, "cannot convert int64 to string"),
        (STRATEGIC, {"data": "x"}, "cannot restore map from string"),
        (STRATEGIC, {"metadata": []}, "cannot restore struct from: slice"),
        (MERGE, {"kind": "Pod"}, "unable to decode /v1, Kind=Pod into *core.ConfigMap"),
        (MERGE, {"kind": None}, "Object 'Kind' is missing in"),
    ],
)
async def test_a_patch_that_leaves_no_such_object_is_invalid(
    server: Server, headers: Any, patch: Any, why: str
) -> None:
    await server.ask("POST", MAPS, config_map(data={"k": "1"}))
    answer = await server.ask("PATCH", f"{MAPS}/a", patch, headers)
    assert (answer.status, answer.obj["details"]["causes"][0]["field"]) == (422, "patch")
    assert why in answer.obj["message"]


async def test_strict_patches_refuse_what_lenient_ones_warn_of(server: Server) -> None:
    await server.ask("POST", MAPS, config_map(data={"k": "1"}))
    repeated = b'{"data":{"k":"1","k":"2"},"bogus":1}'
    complaints = ['duplicate field "data.k"', 'unknown field "bogus"']
    warned = await server.ask("PATCH", f"{MAPS}/a?fieldValidation=Warn", repeated, MERGE)
    assert [text.split(" ", 2)[2] for text in warned.warnings] == [
        f'"{text}"'.replace('"', '\\"').replace('\\"', '"', 1)[:-2] + '"' for text in complaints
    ]
    strict = await server.ask("PATCH", f"{MAPS}/a?fieldValidation=Strict", repeated, MERGE)
    assert strict.status == 422
    assert strict.obj["message"].endswith(f"strict decoding error: {', '.join(complaints)}")
    operations = [{"op": "test", "path": "/data/k", "value": "2", "frob": 1}]
    odd = await server.ask("PATCH", f"{MAPS}/a?fieldValidation=Strict", operations, JSON_PATCH)
    assert odd.obj["message"].endswith('strict decoding error: json patch unknown field "[0].frob"')


async def test_a_mistake_in_a_strategic_patch_is_the_clients(server: Server) -> None:
    await server.ask("POST", MAPS, config_map(data={"k": "1"}))
    answer = await server.ask("PATCH", f"{MAPS}/a", {"data": {"$patch": "frob"}}, STRATEGIC)
    assert (answer.status, answer.obj["reason"]) == (400, "BadRequest")


async def test_apply_makes_what_is_missing_and_notes_its_manager(server: Server) -> None:
    answer = await server.ask("PATCH", f"{MAPS}/a?fieldManager=alice", config_map(data={"k": "1"}), APPLY)
    assert answer.status == 201
    (entry,) = answer.obj["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("alice", "Apply")
    again = await server.ask("PATCH", f"{MAPS}/a?fieldManager=alice", config_map(data={"k": "1"}), APPLY)
    assert (again.status, again.obj) == (200, answer.obj)


async def test_an_applied_body_may_be_yaml_and_strictly_no_key_is_repeated(server: Server) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: '1'\n  k: '2'\n"
    answer = await server.ask("PATCH", f"{MAPS}/a?fieldManager=alice", body, APPLY)
    assert answer.obj["data"] == {"k": "2"}
    assert answer.warnings == []  # what would be said has two lines, and a header holds one
    strict = await server.ask("PATCH", f"{MAPS}/a?fieldManager=alice&fieldValidation=Strict", body, APPLY)
    assert strict.obj["message"].startswith("error strict decoding YAML: error converting YAML to JSON")


async def test_replicas_applied_through_the_scale_belong_to_that_manager(server: Server) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    await server.ask("POST", path, {"metadata": {"name": "w"}, "spec": spec})
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "w"},
        "spec": {"replicas": 3},
    }
    answer = await server.ask("PATCH", f"{path}/w/scale?fieldManager=hpa&force=true", scale, APPLY)
    assert answer.obj["spec"] == {"replicas": 3}
    workload = (await server.ask("GET", f"{path}/w")).obj
    (entry,) = [e for e in workload["metadata"]["managedFields"] if e["manager"] == "hpa"]
    assert (entry["operation"], entry["subresource"], entry["apiVersion"]) == ("Apply", "scale", "apps/v1")
    assert entry["fieldsV1"] == {"f:spec": {"f:replicas": {}}}


async def test_the_status_of_an_object_can_be_written_without_its_spec_and_the_other_way_round(
    server: Server,
) -> None:
    services = "/api/v1/namespaces/default/services"
    body = {"metadata": {"name": "s"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}
    await server.ask("POST", services, body)
    address = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    patch = {"status": address, "spec": {"externalIPs": ["192.0.2.9"]}, "metadata": {"labels": {"x": "y"}}}
    answer = await server.ask("PATCH", f"{services}/s/status?fieldManager=lb", patch, MERGE)
    assert "externalIPs" not in answer.obj["spec"]
    assert answer.obj["status"]["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.1"
    assert answer.obj["metadata"]["labels"] == {"x": "y"}
    lb = [e for e in answer.obj["metadata"]["managedFields"] if e["manager"] == "lb"]
    assert lb[0]["subresource"] == "status"
    assert set(lb[0]["fieldsV1"]) == {"f:metadata", "f:status"}
    main = await server.ask("PATCH", f"{services}/s", {"status": {"loadBalancer": {}}}, MERGE)
    assert main.obj == answer.obj


async def test_events_have_two_faces_and_one_store(server: Server) -> None:
    new = "/apis/events.k8s.io/v1/namespaces/default/events"
    event = {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "c-1",
        "action": "Start",
        "reason": "Started",
        "type": "Normal",
        "note": "it started",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
    }
    assert (await server.ask("POST", new, event)).status == 201
    core = (await server.ask("GET", "/api/v1/namespaces/default/events/e")).obj
    assert (core["message"], core["involvedObject"]["name"]) == ("it started", "p")
    selected = await server.ask("GET", f"{new}?fieldSelector=regarding.name=p")
    assert [item["note"] for item in selected.obj["items"]] == ["it started"]
    watch = await server.watch(f"{new}?watch=1")
    (seen,) = await watch.some()
    assert (seen["object"]["apiVersion"], seen["object"]["note"]) == ("events.k8s.io/v1", "it started")
    missing = await server.ask("GET", f"{new}/none")
    assert missing.obj["message"] == 'events.events.k8s.io "none" not found'


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("/api/v1/namespaces/default/configmaps", True),
        ("/api/v1/namespaces/default/serviceaccounts", True),
        ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", True),
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", False),
    ],
)
async def test_most_kinds_want_qualified_finalizers_in_updates_too(
    server: Server, path: str, refused: bool
) -> None:
    assert (await server.ask("POST", path, {"metadata": {"name": "a"}})).status == 201
    answer = await server.ask("PATCH", f"{path}/a", {"metadata": {"finalizers": ["mine"]}}, MERGE)
    assert answer.status == (422 if refused else 200)
    if refused:
        assert answer.obj["details"]["causes"][0]["field"] == "metadata.finalizers[0]"
    garbled = await server.ask("PATCH", f"{path}/a", {"metadata": {"finalizers": ["a b/c"]}}, MERGE)
    assert garbled.obj["details"]["causes"][0]["field"] == "metadata.finalizers"


async def test_a_content_type_with_a_garbled_parameter_is_unknown(server: Server) -> None:
    body = {"metadata": {"name": "a"}}
    garbled = await server.ask("POST", MAPS, body, {"content-type": "application/json; charset"})
    assert garbled.status == 415
    sound = await server.ask("POST", MAPS, body, {"content-type": "application/json; charset=utf-8;"})
    assert sound.status == 201
