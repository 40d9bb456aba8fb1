"""An Ingress without a class gets the default one."""

from __future__ import annotations

from typing import Any

from fairway.apiserver.default_class import IS_DEFAULT, default_class


def ingress_class(name: str, created: str = "2026-01-01T00:00:00Z", marked: str = "true") -> dict[str, Any]:
    return {"metadata": {"name": name, "creationTimestamp": created, "annotations": {IS_DEFAULT: marked}}}


def test_without_a_marked_class_there_is_no_default() -> None:
    assert default_class([]) == ""
    assert default_class([ingress_class("a", marked="false"), {"metadata": {"name": "b"}}]) == ""


def test_of_several_defaults_the_newest_counts_then_the_first_by_name() -> None:
    old = ingress_class("a")
    assert default_class([old, ingress_class("c", "2026-01-02T00:00:00Z")]) == "c"
    assert default_class([ingress_class("c"), old, ingress_class("b")]) == "a"
