"""Ordinary writes: whoever changes a field comes to own it."""

from __future__ import annotations

from typing import Any

from fairway.api.apply import track_creation, track_update
from fairway.api.apply.fieldset import FieldSet
from fairway.api.resources import CONFIG_MAPS, NODES, PODS, SERVICES, Resource

Obj = dict[str, Any]

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z"
STATUS: FieldSet = {"f:status": {}}


def config_map(data: dict[str, str] | None = None, **metadata: Any) -> Obj:
    obj: Obj = {"metadata": {"name": "a", "namespace": "x", **metadata}}
    return {**obj, "data": data} if data is not None else obj


def created(obj: Obj, resource: Resource = CONFIG_MAPS, manager: str = "alice") -> Obj:
    track_creation(resource, obj, manager, THEN, STATUS)
    return obj


def updated(new: Obj, old: Obj, manager: str, subresource: str = "", reset: FieldSet | None = None) -> Obj:
    new["metadata"] = {**new["metadata"], "uid": "u"}
    old["metadata"]["uid"] = "u"
    track_update(CONFIG_MAPS, new, old, manager, NOW, reset or {}, subresource)
    return new


def owners(obj: Obj) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", ())}


def test_the_creator_owns_all_that_is_in_the_object_but_its_name() -> None:
    obj = created(config_map({"k": "1"}, labels={"x": "y"}))
    assert obj["metadata"]["managedFields"] == [
        {
            "manager": "alice",
            "operation": "Update",
            "apiVersion": "v1",
            "time": THEN,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
                "f:data": {".": {}, "f:k": {}},
            },
        }
    ]


def test_an_object_without_anything_in_it_has_no_owner() -> None:
    assert "managedFields" not in created(config_map())["metadata"]


def test_what_is_there_in_any_case_is_not_owned_only_what_is_in_it() -> None:
    service = {
        "metadata": {"name": "a"},
        "spec": {"type": "ClusterIP", "ports": [{"port": 80, "protocol": "TCP"}], "selector": {"a": "b"}},
        "status": {"loadBalancer": {}},
    }
    created(service, SERVICES)
    assert owners(service)["alice"] == {
        "f:spec": {
            "f:type": {},
            "f:selector": {},
            "f:ports": {
                ".": {},
                'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:protocol": {}},
            },
        }
    }


def test_items_that_are_the_same_by_their_key_are_owned_as_one() -> None:
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "InternalIP", "address": "10.0.0.2"}]
    node = {"metadata": {"name": "n"}, "spec": {}, "status": {"addresses": addresses}}
    track_creation(NODES, node, "kubelet", THEN, {})
    key = 'k:{"type":"InternalIP"}'
    assert owners(node)["kubelet"]["f:status"] == {"f:addresses": {".": {}, key: {}}}


def test_empty_structs_that_belong_to_a_new_item_are_owned() -> None:
    container = {"name": "c", "image": "i", "resources": {}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}, "status": {}}
    created(pod, PODS)
    item = owners(pod)["alice"]["f:spec"]["f:containers"]['k:{"name":"c"}']
    assert item == {".": {}, "f:name": {}, "f:image": {}, "f:resources": {}}


def test_a_change_takes_the_field_from_its_owner() -> None:
    old = created(config_map({"k": "1", "l": "1"}))
    new = updated(config_map({"k": "2", "l": "1"}), old, "bob")
    assert owners(new) == {
        "alice": {"f:data": {".": {}, "f:l": {}}},
        "bob": {"f:data": {"f:k": {}}},
    }


def test_a_field_that_goes_has_no_owner() -> None:
    old = created(config_map({"k": "1", "l": "1"}))
    new = updated(config_map({"k": "1"}), old, "bob")
    assert owners(new) == {"alice": {"f:data": {".": {}, "f:k": {}}}}


def test_an_update_by_the_same_manager_adds_to_its_entry_and_to_its_time() -> None:
    old = created(config_map({"k": "1"}))
    new = updated(config_map({"k": "1", "l": "2"}), old, "alice")
    (entry,) = new["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:k": {}, "f:l": {}}}
    assert entry["time"] == NOW


def test_a_write_that_changes_nothing_keeps_the_times() -> None:
    old = created(config_map({"k": "1"}))
    new = updated(config_map({"k": "1"}), old, "bob")
    assert new["metadata"]["managedFields"] == old["metadata"]["managedFields"]


def test_writes_to_a_subresource_have_an_entry_of_their_own() -> None:
    old = created(config_map({"k": "1"}))
    new = updated(config_map({"k": "2"}), old, "alice", subresource="status")
    entries = new["metadata"]["managedFields"]
    assert [entry.get("subresource") for entry in entries] == [None, "status"]


def test_what_a_path_ignores_is_neither_gained_nor_lost() -> None:
    old = created(config_map({"k": "1"}))
    new = updated(config_map({"k": "2"}), old, "bob", reset={"f:data": {}})
    assert owners(new) == {"alice": {"f:data": {".": {}, "f:k": {}}}}


def test_ownership_can_be_forgotten_on_purpose_and_is_not_taken_up_again_by_updates() -> None:
    old = created(config_map({"k": "1"}))
    new = updated(config_map({"k": "1"}, managedFields=[{}]), old, "bob")
    assert "managedFields" not in new["metadata"]
    assert "managedFields" not in updated(config_map({"k": "2"}), new, "bob")["metadata"]


def test_ownership_that_a_client_sends_is_believed_and_nonsense_passed_over() -> None:
    old = created(config_map({"k": "1"}))
    entry = {
        "manager": "carol",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:k": {}}},
    }
    assert owners(updated(config_map({"k": "1"}, managedFields=[entry]), old, "bob")) == {
        "carol": {"f:data": {"f:k": {}}}
    }
    nonsense = {**entry, "operation": "Frob"}
    kept = updated(config_map({"k": "1"}, managedFields=[nonsense]), old, "bob")
    assert kept["metadata"]["managedFields"] == old["metadata"]["managedFields"]


def test_beyond_ten_updaters_the_oldest_are_put_together() -> None:
    old = created(config_map({"k": "0"}), manager="m00")
    for number in range(1, 12):
        data = {**old["data"], f"k{number}": "1"}
        new = config_map(data)
        new["metadata"]["uid"] = old["metadata"]["uid"] = "u"
        now = f"2026-01-01T00:01:{number:02}Z"
        track_update(CONFIG_MAPS, new, old, f"m{number:02}", now, {})
        old = new
    entries = old["metadata"]["managedFields"]
    assert len(entries) == 10
    assert entries[0]["manager"] == "ancient-changes"
    assert entries[0]["fieldsV1"] == {"f:data": {".": {}, "f:k": {}, "f:k1": {}, "f:k2": {}}}
