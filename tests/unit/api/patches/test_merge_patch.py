"""RFC 7386, and the words for patches that are none."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.patches import PatchError, decode_patch, merge_patch
from fairway.api.patches.merge import merged

GO_MAP = "map[string]interface {}"

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=1), inner)
)
objects = st.dictionaries(st.text("abc", max_size=1), values)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_examples_of_the_rfc_hold(target: Any, patch: Any, result: Any) -> None:
    assert merged(target, patch) == result


@given(values, values)
def test_applying_a_patch_twice_changes_nothing_more(target: Any, patch: Any) -> None:
    once = merged(target, patch)
    assert merged(once, patch) == once


@given(values, values)
def test_neither_document_nor_patch_is_touched(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))
    _scribble(merged(target, patch))
    assert (target, patch) == before


@given(objects)
def test_an_empty_patch_keeps_the_document(target: dict[str, Any]) -> None:
    assert merge_patch(target, {}) == target


def test_fields_keep_their_order() -> None:
    assert list(merge_patch({"a": 1, "b": 2, "c": 3}, {"d": 4, "b": 5})) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "invalid JSON patch"),
        (b"", "invalid JSON patch"),
        (b"[" * 100_000, "invalid JSON patch"),
        (b"null", "Invalid JSON Patch"),
        (b"[]", f"error decoding patch: json: cannot unmarshal array into Go value of type {GO_MAP}"),
        (b'"x"', f"error decoding patch: json: cannot unmarshal string into Go value of type {GO_MAP}"),
    ],
)
def test_what_is_no_patch_is_a_bad_request(body: bytes, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        merge_patch({}, decode_patch(body))
    assert (caught.value.code, caught.value.reason, caught.value.message) == (400, "BadRequest", message)


def _scribble(value: Any) -> None:
    """Change every list and object, however deep."""
    if isinstance(value, dict):
        for item in value.values():
            _scribble(item)
        value["scribble"] = True
    elif isinstance(value, list):
        for item in value:
            _scribble(item)
        value.append("scribble")
