"""Sets of fields behave as sets, in the form in which managedFields carry them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairway.api.apply.elements import BadElement, canonical_set, key_element, path_text, value_element
from fairway.api.apply.fieldset import (
    NOTHING,
    FieldSet,
    difference,
    has,
    intersection,
    outside,
    paths,
    set_of,
    union,
)

ELEMENTS = st.sampled_from(["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'v:"y"'])
PATHS = st.sets(st.lists(ELEMENTS, min_size=1, max_size=3).map(tuple), max_size=6)


def build(members: set[tuple[str, ...]]) -> FieldSet:
    result: FieldSet = NOTHING
    for path in members:
        result = union(result, set_of(*path))
    return result


def members(fields: FieldSet) -> set[tuple[str, ...]]:
    return set(paths(fields))


@given(PATHS)
def test_a_set_has_just_the_fields_it_was_made_of(wanted: set[tuple[str, ...]]) -> None:
    fields = build(wanted)
    assert members(fields) == wanted
    assert all(has(fields, path) for path in wanted)


@given(PATHS, PATHS)
def test_union_difference_and_intersection_are_those_of_sets(
    one: set[tuple[str, ...]], other: set[tuple[str, ...]]
) -> None:
    first, second = build(one), build(other)
    assert members(union(first, second)) == one | other
    assert members(difference(first, second)) == one - other
    assert members(intersection(first, second)) == one & other


@given(PATHS, PATHS)
def test_outside_also_leaves_out_what_is_below_a_field(
    one: set[tuple[str, ...]], other: set[tuple[str, ...]]
) -> None:
    expected = {path for path in one if not any(path[: len(top)] == top for top in other)}
    assert members(outside(build(one), build(other))) == expected


@given(PATHS, PATHS)
def test_no_operation_changes_what_it_was_given(
    one: set[tuple[str, ...]], other: set[tuple[str, ...]]
) -> None:
    first, second = build(one), build(other)
    for operation in (union, difference, intersection, outside):
        operation(first, second)
    assert members(first) == one
    assert members(second) == other


@given(PATHS)
def test_the_empty_set_is_written_as_an_empty_object(wanted: set[tuple[str, ...]]) -> None:
    fields = build(wanted)
    assert difference(fields, fields) == {}
    assert canonical_set(fields) == fields


def test_a_field_with_fields_below_it_belongs_to_the_set_only_with_a_dot() -> None:
    assert members({"f:data": {"f:k": {}}}) == {("f:data", "f:k")}
    assert members({"f:data": {".": {}, "f:k": {}}}) == {("f:data",), ("f:data", "f:k")}
    assert union({"f:data": {}}, {"f:data": {"f:k": {}}}) == {"f:data": {".": {}, "f:k": {}}}


def test_members_come_before_what_is_below_others_when_listed() -> None:
    fields = {"f:spec": {"f:replicas": {}}, "f:data": {}}
    assert list(paths(fields)) == [("f:data",), ("f:spec", "f:replicas")]


def test_keys_are_written_in_order_however_they_are_given() -> None:
    element = key_element({"protocol": "TCP", "port": 53})
    assert element == 'k:{"port":53,"protocol":"TCP"}'
    assert canonical_set({'k:{"protocol":"TCP","port":53}': {}}) == {element: {}}


def test_paths_are_shown_as_people_write_them() -> None:
    path = ("f:spec", "f:ports", key_element({"port": 53, "protocol": "TCP"}), "f:name")
    assert path_text(path) == '.spec.ports[port=53,protocol="TCP"].name'
    assert path_text(("f:metadata", "f:finalizers", value_element("a/b"))) == '.metadata.finalizers[="a/b"]'


def test_kinds_of_elements_not_known_yet_are_passed_over_and_nonsense_is_refused() -> None:
    assert canonical_set({"f:a": {}, "x:future": {}}) == {"f:a": {}}
    for nonsense in ({"k:{": {}}, {"i:x": {}}, {"fa": {}}, {"f": {}}, {"f:a": 1}, []):
        assert is_refused(nonsense)


def is_refused(value: Any) -> bool:
    try:
        canonical_set(value)
    except BadElement:
        return True
    return False
