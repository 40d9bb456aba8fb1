"""RFC 6902 as kube-apiserver does it, and its answers to patches that can't be applied."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.patches import PatchError, json_patch
from fairway.api.patches.json_patch import MOST_OPERATIONS

DOCUMENT: dict[str, Any] = {
    "data": {"a": "1", "b": "2"},
    "ports": [{"port": 80}, {"port": 81}],
    "x/y": {"m~n": 1},
}


def op(kind: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, **more}


@pytest.mark.parametrize(
    ("operations", "path", "expected"),
    [
        ([op("add", "/data/c", value="3")], ["data", "c"], "3"),
        ([op("add", "/data/a", value="9")], ["data", "a"], "9"),
        ([op("add", "/ports/-", value=1)], ["ports"], [{"port": 80}, {"port": 81}, 1]),
        ([op("add", "/ports/0", value=1)], ["ports"], [1, {"port": 80}, {"port": 81}]),
        ([op("add", "/ports/2", value=1)], ["ports"], [{"port": 80}, {"port": 81}, 1]),
        ([op("add", "/ports/-1", value=1)], ["ports"], [{"port": 80}, {"port": 81}, 1]),
        ([op("remove", "/ports/1")], ["ports"], [{"port": 80}]),
        ([op("remove", "/ports/-1")], ["ports"], [{"port": 80}]),
        ([op("remove", "/data/a")], ["data"], {"b": "2"}),
        ([op("replace", "/ports/0/port", value=8080)], ["ports"], [{"port": 8080}, {"port": 81}]),
        ([op("replace", "/ports/1", value=None)], ["ports"], [{"port": 80}, None]),
        ([{"op": "move", "from": "/data/a", "path": "/data/z"}], ["data"], {"b": "2", "z": "1"}),
        ([{"op": "move", "from": "/ports/0", "path": "/ports/-"}], ["ports"], [{"port": 81}, {"port": 80}]),
        ([{"op": "copy", "from": "/data/b", "path": "/data/y"}], ["data"], {"a": "1", "b": "2", "y": "2"}),
        ([op("replace", "/x~1y/m~0n", value=2)], ["x/y", "m~n"], 2),
        ([op("test", "/data/a", value="1"), op("add", "/data/a", value="2")], ["data", "a"], "2"),
        ([op("test", "/data/none", value=None)], ["data", "a"], "1"),
        ([op("test", "/data", value={"b": "2", "a": "1"})], ["data", "a"], "1"),
        ([op("replace", "", value={"data": 1})], ["data"], 1),
        ([], ["data"], {"a": "1", "b": "2"}),
    ],
)
def test_operations(operations: list[dict[str, Any]], path: list[str], expected: Any) -> None:
    value = json_patch(DOCUMENT, operations)
    for key in path:
        value = value[key]
    assert value == expected


@pytest.mark.parametrize(
    "operation",
    [
        op("frob", "/data/a"),
        {"op": "add", "value": "1"},
        {"path": "/data/a"},
        op("remove", "/ports/9"),
        op("remove", "/ports/-3"),
        op("remove", "/data/none"),
        op("remove", "/ports/0/nodePort"),
        op("replace", "/data/none", value=1),
        op("replace", "/ports/2", value=1),
        op("add", "/none/a", value=1),
        op("add", "/data/a/b", value=1),
        op("add", "/ports/3", value=1),
        op("add", "/ports/01", value=1),
        op("add", "/ports/x", value=1),
        op("add", "data/a", value=1),
        op("test", "/data/a", value="2"),
        op("test", "/ports/0/port", value=True),
        op("test", "/ports/9", value=None),
        op("test", "/none/a", value=None),
        op("move", "/data/c"),
        {"op": "move", "from": "/data/none", "path": "/data/c"},
        {"op": "move", "from": "/data", "path": "/data/c"},
        {"op": "copy", "from": "/none", "path": "/data/c"},
    ],
)
def test_what_does_not_apply_is_unprocessable_and_changes_nothing(operation: dict[str, Any]) -> None:
    before = copy.deepcopy(DOCUMENT)
    with pytest.raises(PatchError) as caught:
        json_patch(DOCUMENT, [op("add", "/data/first", value=1), operation])
    assert caught.value.body() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }
    assert before == DOCUMENT


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ({"op": "add"}, "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (["x"], "cannot unmarshal string into Go value of type handlers.jsonPatchOp"),
        ([{"op": 1}], "cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        ([{"path": True}], "cannot unmarshal bool into Go struct field jsonPatchOp.path of type string"),
    ],
)
def test_what_is_no_list_of_operations_is_a_bad_request(patch: Any, reason: str) -> None:
    with pytest.raises(PatchError) as caught:
        json_patch({}, patch)
    assert (caught.value.code, caught.value.message) == (400, f"error decoding patch: json: {reason}")


def test_too_many_operations_are_too_large() -> None:
    with pytest.raises(PatchError) as caught:
        json_patch({}, [op("test", "/a")] * (MOST_OPERATIONS + 1))
    assert caught.value.code == 413
    assert caught.value.message.endswith("in a JSON patch is 10000, got 10001")


def test_copies_that_double_the_document_again_and_again_are_refused() -> None:
    doubling = [{"op": "copy", "from": "/data", "path": f"/data/{n}"} for n in range(64)]
    with pytest.raises(PatchError):
        json_patch({"data": {"a": "x" * 100}}, doubling)


@given(st.dictionaries(st.text("a/~", max_size=3), st.integers()), st.text("a/~", max_size=3), st.integers())
def test_add_then_remove_gives_the_document_back(document: dict[str, int], key: str, value: int) -> None:
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    added = json_patch(document, [op("add", pointer, value=value)])
    assert added == {**document, key: value}
    document.pop(key, None)
    assert json_patch(added, [op("remove", pointer)]) == document


def test_the_result_shares_nothing_with_the_patch() -> None:
    patch = [op("add", "/list", value=[1])]
    json_patch({}, patch)["list"].append(2)
    assert patch[0]["value"] == [1]
