"""Strategic merge as kube-apiserver does it: by merge keys, with directives, in its order."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.patches import PatchError, strategic_merge_patch


@dataclass(frozen=True)
class ShapeTable:
    fields: Mapping[str, FieldRow] = field(default_factory=dict)


@dataclass(frozen=True)
class FieldRow:
    merge_key: str | None = None
    strategy: tuple[str, ...] = ()
    shape: ShapeTable | None = None
    is_map: bool = False


CONTAINER = ShapeTable({"env": FieldRow("name", ("merge",)), "command": FieldRow()})
SERVICE = ShapeTable(
    {
        "metadata": FieldRow(shape=ShapeTable({"finalizers": FieldRow(None, ("merge",))})),
        "spec": FieldRow(
            shape=ShapeTable(
                {
                    "ports": FieldRow("port", ("merge",)),
                    "containers": FieldRow("name", ("merge",), CONTAINER),
                    "selector": FieldRow(is_map=True),
                    "strategy": FieldRow(None, ("retainKeys",), ShapeTable()),
                    "tolerations": FieldRow(),
                    "atomic": FieldRow(None, ("replace",), ShapeTable()),
                    "broken": FieldRow(None, ("merge",)),
                }
            )
        ),
    }
)
A, B = {"name": "a", "port": 80}, {"name": "b", "port": 81}


def spec(old: dict[str, Any], patch: Any) -> Any:
    return strategic_merge_patch({"spec": old}, {"spec": patch}, SERVICE)["spec"]


def ports(*patch: dict[str, Any], old: tuple[dict[str, Any], ...] = (A, B), **directives: Any) -> Any:
    return spec({"ports": list(old)}, {"ports": list(patch), **directives})["ports"]


def test_an_item_with_a_known_key_merges_in_place() -> None:
    assert ports({"port": 81, "targetPort": 9000}) == [A, {**B, "targetPort": 9000}]


def test_a_new_item_goes_before_those_the_patch_does_not_name() -> None:
    assert ports({"port": 82, "name": "c"}) == [{"port": 82, "name": "c"}, A, B]


def test_a_new_item_stays_next_to_its_neighbours_in_the_patch() -> None:
    c = {"port": 82}
    assert ports({"port": 80}, c) == [A, c, B]
    assert ports({"port": 81}, c) == [A, B, c]
    assert ports(c, {"port": 80}) == [c, A, B]


def test_items_the_patch_reorders_take_its_order() -> None:
    assert ports({"port": 81}, {"port": 80}) == [B, A]


def test_of_two_items_with_the_same_key_the_first_is_changed() -> None:
    udp = {"port": 80, "protocol": "UDP"}
    assert ports({"port": 80, "name": "x"}, old=(A, udp)) == [{"name": "x", "port": 80}, udp]


def test_delete_takes_all_items_with_that_key() -> None:
    assert ports({"port": 80, "$patch": "delete"}, old=(A, B, {"port": 80, "protocol": "UDP"})) == [B]


def test_replace_takes_the_rest_of_the_patch_as_the_list() -> None:
    assert ports({"$patch": "replace"}, {"port": 90}) == [{"port": 90}]
    assert ports({"$patch": "replace"}) == []


def test_set_element_order_reorders_a_list_that_is_not_in_the_patch() -> None:
    result = spec({"ports": [A, B]}, {"$setElementOrder/ports": [{"port": 81}, {"port": 80}]})
    assert result == {"ports": [B, A]}


def test_set_element_order_with_additions_and_deletions() -> None:
    order = [{"port": 82}, {"port": 81}]
    patch = ({"port": 82}, {"$patch": "delete", "port": 80})
    assert ports(*patch, **{"$setElementOrder/ports": order}) == [{"port": 82}, B]


def test_items_only_the_server_has_keep_their_place_around_the_order() -> None:
    server = [{"port": 70}, A, {"port": 75}, B, {"port": 90}]
    patch = {"$setElementOrder/ports": [{"port": 80}, {"port": 81}]}
    assert spec({"ports": server}, patch)["ports"] == server


def test_set_element_order_for_a_list_that_is_nowhere_is_ignored() -> None:
    assert spec({}, {"$setElementOrder/ports": [{"port": 81}]}) == {}


def test_set_element_order_for_a_new_list_leaves_no_directive_behind() -> None:
    patch = {
        "$setElementOrder/ports": [{"port": 81}],
        "ports": [{"port": 81}, {"port": 80, "$patch": "delete"}],
    }
    assert spec({}, patch) == {"ports": [{"port": 81}]}


def test_a_patch_out_of_the_order_it_announces_is_refused() -> None:
    with pytest.raises(PatchError, match="The order in patch list:\n") as caught:
        ports({"port": 81}, {"port": 80}, **{"$setElementOrder/ports": [{"port": 80}, {"port": 81}]})
    assert "[map[port:81] map[port:80]]\n doesn't match $setElementOrder list:" in caught.value.message


def test_lists_merge_inside_items_of_lists() -> None:
    old = {
        "containers": [{"name": "c", "image": "1", "env": [{"name": "X", "value": "1"}], "command": ["a"]}]
    }
    patch = {"containers": [{"name": "c", "env": [{"name": "Y", "value": "2"}], "command": ["b"]}]}
    (container,) = spec(old, patch)["containers"]
    assert container["image"] == "1"
    assert container["command"] == ["b"]
    assert container["env"] == [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]


def test_a_list_without_strategy_is_replaced() -> None:
    assert spec({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}) == {
        "tolerations": [{"key": "b"}]
    }


def finalizers(*old: str, **patch: list[str]) -> Any:
    document = {"metadata": {"finalizers": list(old)} if old else {}}
    return strategic_merge_patch(document, {"metadata": patch}, SERVICE)["metadata"].get("finalizers")


def test_scalars_merge_as_a_set_with_those_of_the_patch_first() -> None:
    assert finalizers("b", finalizers=["c"]) == ["c", "b"]
    assert finalizers("a", "b", finalizers=["b"]) == ["a", "b"]


def test_scalars_are_deleted_by_the_parallel_list() -> None:
    assert finalizers("a", "b", **{"$deleteFromPrimitiveList/finalizers": ["a"]}) == ["b"]
    assert finalizers("a", "b", **{"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}) == [
        "c",
        "b",
    ]
    assert finalizers(**{"$deleteFromPrimitiveList/finalizers": ["a"]}) is None


def test_scalars_take_the_order_they_are_given() -> None:
    assert finalizers("a", "b", "c", **{"$setElementOrder/finalizers": ["c", "a"]}) == ["b", "c", "a"]


def test_objects_merge_and_null_removes() -> None:
    assert spec({"selector": {"app": "a"}}, {"selector": {"app": None, "b": "c"}}) == {"selector": {"b": "c"}}


def test_keys_of_a_map_are_data_even_if_they_are_named_like_fields() -> None:
    inner = ShapeTable({"ports": FieldRow("port", ("merge",))})
    shape = ShapeTable({"labels": FieldRow(is_map=True, shape=inner)})
    result = strategic_merge_patch({"labels": {"ports": [A]}}, {"labels": {"ports": [B]}}, shape)
    assert result == {"labels": {"ports": [B]}}


def test_delete_and_replace_work_on_objects() -> None:
    assert spec({"selector": {"app": "a"}}, {"selector": {"$patch": "delete"}}) == {"selector": {}}
    assert spec({"selector": {"a": "1"}}, {"selector": {"$patch": "replace", "b": "2"}}) == {
        "selector": {"b": "2"}
    }


def test_an_object_that_is_replaced_as_a_whole_does_not_merge() -> None:
    assert spec({"atomic": {"a": 1}}, {"atomic": {"b": 2}}) == {"atomic": {"b": 2}}


def test_retain_keys_drops_all_others() -> None:
    old = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    assert spec(old, patch) == {"strategy": {"type": "Recreate"}}


@pytest.mark.parametrize("retain", ["type", ["other"]])
def test_retain_keys_must_list_what_the_patch_sets(retain: Any) -> None:
    with pytest.raises(PatchError) as caught:
        spec({"strategy": {}}, {"strategy": {"$retainKeys": retain, "type": "Recreate"}})
    assert (caught.value.code, caught.value.message) == (400, "invalid patch format of retainKeys")


def test_a_new_part_is_taken_without_nulls_and_directives() -> None:
    new = {
        "a": None,
        "$retainKeys": ["b"],
        "b": {"c": None, "d": [{"e": None, "f": 1}, {"$patch": "delete", "name": "x"}]},
        "$setElementOrder/g": [],
        "gone": {"$patch": "delete"},
    }
    assert spec({}, {"new": new}) == {"new": {"b": {"d": [{"f": 1}]}, "gone": {}}}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"ports": [{"name": "c"}]}, "map: map[name:c] does not contain declared merge key: port"),
        (
            {"ports": [{"$patch": "delete"}]},
            "map: map[$patch:delete] does not contain declared merge key: port",
        ),
        ({"selector": {"$patch": "frob"}}, "unknown patch type: frob in map: map[$patch:frob]"),
        (
            {"ports": [{"$patch": "frob", "x": [1, True, None]}]},
            "unknown patch type: frob in map: map[$patch:frob x:[1 true <nil>]]",
        ),
        ({"ports": [{"$patch": "merge"}]}, "merging lists cannot yet be specified in the patch"),
        ({"ports": [1]}, "list element types are not identical"),
        ({"broken": [{}]}, "cannot merge lists without merge key"),
        ({"$setElementOrder/ports": "x"}, "expected a []interface {}, but received a string"),
        (
            {"$setElementOrder/ports": [], "ports": None},
            "expected a []interface {}, but received a %!s(<nil>)",
        ),
    ],
)
def test_complaints_are_those_of_kubernetes(patch: dict[str, Any], message: str) -> None:
    with pytest.raises(PatchError) as caught:
        spec({"ports": [A, B], "selector": {"app": "a"}, "broken": [{}]}, patch)
    assert caught.value.body() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "code": 500,
    }


def test_lists_of_lists_are_unprocessable() -> None:
    with pytest.raises(PatchError) as caught:
        ports([1])  # type: ignore[arg-type]
    assert caught.value.code == 422


def test_a_patch_must_be_an_object() -> None:
    with pytest.raises(PatchError) as caught:
        strategic_merge_patch({}, [], SERVICE)
    message = "json: cannot unmarshal array into Go value of type map[string]interface {}"
    assert (caught.value.code, caught.value.message) == (400, message)
    assert strategic_merge_patch({"a": 1}, None, SERVICE) == {"a": 1}


numbers = st.lists(st.integers(1, 9), unique=True)
items = numbers.map(lambda found: [{"port": number, "from": "server"} for number in found])


@given(items, numbers)
def test_items_the_patch_does_not_name_stay_as_they_are_and_in_order(
    old: list[dict[str, Any]], patched: list[int]
) -> None:
    result = ports(*({"port": number, "from": "patch"} for number in patched), old=tuple(old))
    assert [item for item in result if item["from"] == "server"] == [
        i for i in old if i["port"] not in patched
    ]
    assert [item["port"] for item in result if item["from"] == "patch"] == patched


@given(items, numbers)
def test_applying_twice_changes_nothing_more(old: list[dict[str, Any]], patched: list[int]) -> None:
    patch = [{"port": number, "from": "patch"} for number in patched]
    once = ports(*patch, old=tuple(old))
    assert ports(*patch, old=tuple(once)) == once


@given(items, numbers, st.randoms())
def test_an_announced_order_is_the_order_of_the_result(
    old: list[dict[str, Any]], order: list[int], random: Any
) -> None:
    patched = [number for number in order if random.random() < 0.5]
    result = ports(
        *({"port": number} for number in patched),
        old=tuple(old),
        **{"$setElementOrder/ports": [{"port": number} for number in order]},
    )
    known = {item["port"] for item in old} | set(patched)
    assert [item["port"] for item in result if item["port"] in order] == [n for n in order if n in known]
    assert {item["port"] for item in result} == known


scalars = st.none() | st.integers(-2, 2) | st.sampled_from(["replace", "delete", "x"])
keys = st.sampled_from(
    ["ports", "port", "finalizers", "$patch", "$retainKeys", "$setElementOrder/ports", "spec", "a"]
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)
)


@given(st.dictionaries(keys, values, max_size=4), values)
def test_any_patch_is_applied_or_refused_and_inputs_stay_whole(old: dict[str, Any], patch: Any) -> None:
    before = copy.deepcopy((old, patch))
    try:
        strategic_merge_patch({"spec": old}, {"spec": patch}, SERVICE)
    except PatchError:
        pass
    assert (old, patch) == before
