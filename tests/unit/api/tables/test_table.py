"""The Table document around the rows: headers, objects, paging, watches."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fairway.api import resources as r
from fairway.api.tables import TableStream, columns_of, partial_object_metadata, table

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG_MAP: dict[str, Any] = {
    "metadata": {"name": "a", "namespace": "ns", "resourceVersion": "7", "labels": {"x": "y"}},
    "data": {"k": "v"},
}


def test_a_list_becomes_a_table_with_columns_rows_and_metadata_of_objects() -> None:
    made = table(r.CONFIG_MAPS, [CONFIG_MAP], NOW, resource_version="9")
    assert made["kind"] == "Table"
    assert made["apiVersion"] == "meta.k8s.io/v1"
    assert made["metadata"] == {"resourceVersion": "9"}
    assert [column["name"] for column in made["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert made["rows"] == [
        {
            "cells": ["a", 1, "<unknown>"],
            "object": {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": CONFIG_MAP["metadata"],
            },
        }
    ]


def test_an_empty_list_still_has_columns_and_rows() -> None:
    made = table(r.SERVICES, [], NOW, resource_version="9")
    assert made["rows"] == []
    assert len(made["columnDefinitions"]) == 7


def test_a_page_of_a_list_says_how_to_go_on() -> None:
    made = table(r.CONFIG_MAPS, [], NOW, resource_version="9", continue_token="t", remaining=0)
    assert made["metadata"] == {"resourceVersion": "9", "continue": "t", "remainingItemCount": 0}


def test_rows_may_carry_the_whole_object() -> None:
    (row,) = table(r.CONFIG_MAPS, [CONFIG_MAP], NOW, resource_version="9", include_object="Object")["rows"]
    assert row["object"] == {"kind": "ConfigMap", "apiVersion": "v1", **CONFIG_MAP}


def test_rows_may_carry_no_object() -> None:
    (row,) = table(r.CONFIG_MAPS, [CONFIG_MAP], NOW, resource_version="9", include_object="None")["rows"]
    assert row["object"] is None


def test_the_version_asked_for_holds_for_the_table_and_its_objects() -> None:
    made = table(r.CONFIG_MAPS, [CONFIG_MAP], NOW, resource_version="9", version="v1beta1")
    assert made["apiVersion"] == "meta.k8s.io/v1beta1"
    assert made["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_a_watch_defines_columns_in_its_first_event_only() -> None:
    stream = TableStream(r.CONFIG_MAPS)
    first, second = stream.table(CONFIG_MAP, NOW), stream.table(CONFIG_MAP, NOW)
    assert len(first["columnDefinitions"]) == 3
    assert second["columnDefinitions"] is None
    assert [len(each["rows"]) for each in (first, second)] == [1, 1]
    assert first["metadata"] == {"resourceVersion": "7"}


def test_metadata_hides_what_kubernetes_keeps_in_annotations_for_itself() -> None:
    kept = {"deprecated.daemonset.template.generation": "1"}
    only = partial_object_metadata(r.DAEMON_SETS, {"metadata": {"name": "a", "annotations": kept}})
    both = partial_object_metadata(
        r.DAEMON_SETS, {"metadata": {"name": "a", "annotations": {**kept, "mine": "2"}}}
    )
    assert only["metadata"] == {"name": "a"}
    assert both["metadata"] == {"name": "a", "annotations": {"mine": "2"}}


def test_making_a_table_leaves_the_object_as_it_was() -> None:
    obj = {"metadata": {"name": "a", "annotations": {"deprecated.daemonset.template.generation": "1"}}}
    table(r.DAEMON_SETS, [obj], NOW, resource_version="9")
    assert obj["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "1"}


def test_kinds_without_columns_of_their_own_show_when_they_were_created() -> None:
    name, created = columns_of(r.ROLES)
    assert (name.name, name.format) == ("Name", "name")
    assert (created.name, created.type, created.priority) == ("Created At", "date", 0)
