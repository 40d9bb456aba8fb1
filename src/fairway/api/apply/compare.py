"""Which fields two states of an object differ in: the basis of saying who owns what.

A field that is new, or has another value, is changed; one that is gone is removed. What is absent in both, or
equal in both, is neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from fairway.api.apply.fieldset import MEMBER, NOTHING, SELF, FieldSet
from fairway.api.apply.structure import List, Map, Node, Struct

ABSENT: Final = object()


class Difference(NamedTuple):
    changed: FieldSet
    removed: FieldSet


class Parts(NamedTuple):
    """Below one field: what changed, what went; None for nothing."""

    changed: FieldSet | None
    removed: FieldSet | None


_SAME: Final = Parts(None, None)


def compare(structure: Struct, old: Mapping[str, Any], new: Mapping[str, Any]) -> Difference:
    parts = _compare(structure, old, new)
    return Difference(parts.changed or NOTHING, parts.removed or NOTHING)


def whole(node: Node, value: Any) -> FieldSet:
    """The field itself and everything below it."""
    if node.atomic or not value:
        return MEMBER
    result: FieldSet = {SELF: MEMBER}
    if type(node) is Struct:
        fields = node.fields
        for name, item in value.items():
            known = fields.get(name)
            if known is not None:
                element, child = known
                result[element] = MEMBER if child.atomic else whole(child, item)
    elif type(node) is Map:
        for name, item in value.items():
            result[f"f:{name}"] = whole(node.item, item)
    elif type(node) is List:
        for item in value:
            # Of items that are the same by their keys, none is owned more closely than as one of them.
            element = node.element(item)
            result[element] = MEMBER if element in result else whole(node.item, item)
    return result


def _compare(node: Node, old: Any, new: Any) -> Parts:
    if old is ABSENT:
        return Parts(whole(node, new), None)
    if new is ABSENT:
        return Parts(None, whole(node, old))
    if old == new:
        return _SAME
    if node.atomic or not (old or new):
        return Parts(MEMBER, None)
    if type(node) is List:
        return _compare_items(node, old or [], new or [])
    return _compare_members(node, old or {}, new or {})


def _compare_members(node: Node, old: Mapping[str, Any], new: Mapping[str, Any]) -> Parts:
    changed: FieldSet = {}
    removed: FieldSet = {}
    for name in {**old, **new}:
        if type(node) is Struct:
            known = node.fields.get(name)
            if known is None:
                continue
            element, child = known
        else:
            assert type(node) is Map
            element, child = f"f:{name}", node.item
        _collect(changed, removed, element, _compare(child, old.get(name, ABSENT), new.get(name, ABSENT)))
    return Parts(changed or None, removed or None)


def _compare_items(node: List, old: list[Any], new: list[Any]) -> Parts:
    before, after = _by_element(node, old), _by_element(node, new)
    changed: FieldSet = {}
    removed: FieldSet = {}
    for element in {**before, **after}:
        _collect(changed, removed, element, _compare_same(node, before.get(element), after.get(element)))
    return Parts(changed or None, removed or None)


def _compare_same(node: List, old: list[Any] | None, new: list[Any] | None) -> Parts:
    """The items of one key: normally one on each side."""
    if len(old or ()) > 1 or len(new or ()) > 1:
        if old == new:
            return _SAME
        return Parts(MEMBER, None) if new else Parts(None, MEMBER)
    return _compare(node.item, old[0] if old else ABSENT, new[0] if new else ABSENT)


def _collect(changed: FieldSet, removed: FieldSet, element: str, parts: Parts) -> None:
    if parts.changed is not None:
        changed[element] = parts.changed
    if parts.removed is not None:
        removed[element] = parts.removed


def _by_element(node: List, items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(node.element(item), []).append(item)
    return found
