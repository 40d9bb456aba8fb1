"""Who owns a workload's replicas, seen through its scale."""

from __future__ import annotations

from typing import Any

from fairway.api.apply import scale_owners, workload_owners

REPLICAS = {"f:spec": {"f:replicas": {}}}


def entry(manager: str, fields: dict[str, Any], operation: str = "Apply", version: str = "apps/v1") -> Any:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": version,
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def test_only_owners_of_replicas_are_owners_of_the_scale() -> None:
    both = {"f:spec": {"f:replicas": {}, "f:paused": {}}}
    owners = scale_owners([entry("alice", both), entry("bob", {"f:spec": {"f:paused": {}}})], "apps/v1")
    assert owners == [entry("alice", REPLICAS, version="autoscaling/v1")]


def test_replicas_set_through_the_scale_are_taken_from_their_owner_and_noted_without_a_time() -> None:
    both = {"f:spec": {"f:replicas": {}, "f:paused": {}}}
    scaled = {**entry("hpa", REPLICAS, "Update", "autoscaling/v1"), "subresource": "scale"}
    owners = workload_owners([entry("alice", both)], [scaled], "apps/v1")
    expected = {**entry("hpa", REPLICAS, "Update"), "subresource": "scale"}
    del expected["time"]
    assert owners == [entry("alice", {"f:spec": {"f:paused": {}}}), expected]


def test_an_applier_of_replicas_keeps_them_if_the_scale_did_not_take_them() -> None:
    alice = entry("alice", REPLICAS)
    kept = entry("alice", REPLICAS, version="autoscaling/v1")
    assert workload_owners([alice], [kept], "apps/v1") == [alice]
