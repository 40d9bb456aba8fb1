"""Putting an applied configuration into an object, and taking fields out of one. Pure; nothing is changed in
place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fairway.api.apply.fieldset import FieldSet, is_member
from fairway.api.apply.structure import List, Map, Node, Struct

_ABSENT: Final = object()


def merged(structure: Struct, live: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    """The live object with every value of the configuration in it."""
    return _merged_members(structure, live, applied)


def _merged(node: Node, live: Any, applied: Any) -> Any:
    if applied is _ABSENT:
        return live
    if live is _ABSENT or node.atomic or not (live or applied):
        return applied
    if isinstance(node, List):
        return _merged_items(node, live or [], applied or [])
    return _merged_members(node, live or {}, applied or {})


def _merged_members(node: Node, live: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    result = dict(live)
    for name, value in applied.items():
        child = _member_node(node, name)
        if child is not None:
            result[name] = _merged(child, live.get(name, _ABSENT), value)
    return result


def _member_node(node: Node, name: str) -> Node | None:
    if isinstance(node, Struct):
        known = node.fields.get(name)
        return known[1] if known else None
    return node.item if isinstance(node, Map) else None


def _merged_items(node: List, live: list[Any], applied: list[Any]) -> list[Any]:
    """Applied items keep their order among themselves, and live ones theirs; where a live item that isn't
    applied stands among those that are, it keeps its place."""
    ours: dict[str, Any] = {}
    for item in live:
        element = node.element(item)
        # Of several live items with one key, none is merged with what is applied.
        ours[element] = _ABSENT if element in ours else item
    theirs = {node.element(item): item for item in applied}
    return [
        item if element is None else _merged(node.item, ours.get(element, _ABSENT), theirs[element])
        for element, item in _ordered(node, live, list(theirs), ours)
    ]


def _ordered(
    node: List, live: list[Any], wanted: list[str], ours: dict[str, Any]
) -> Iterator[tuple[str | None, Any]]:
    """The merged list in its order: applied items by their element, live ones that aren't applied
    themselves."""
    shared = [element for element in wanted if element in ours]
    there = [(node.element(item), item) for item in live]
    applied, placed = set(wanted), set()
    left = right = 0
    while left < len(there) or right < len(wanted):
        due = wanted[right] if right < len(wanted) else None
        if left < len(there):
            element, item = there[left]
            if element not in applied:
                yield None, item
                left += 1
                continue
            if due is not None and element != due and shared and shared[0] != element:
                left += 1  # its place among the applied items is a later one, or was an earlier
                continue
            if element == due or element in placed:
                left += 1
        if due is not None:
            yield due, None
            placed.add(due)
            right += 1
            if shared and shared[0] == due:
                del shared[0]


def without(node: Node, value: Any, fields: FieldSet) -> Any:
    """The value without the fields of a set; null where nothing is left of it."""
    if not value or node.atomic:
        return None
    if isinstance(node, List):
        return _items_without(node, value, fields) or None
    result = {}
    for name, item in value.items():
        below = fields.get(f"f:{name}")
        if below is None:
            result[name] = item
        elif not is_member(below):
            child = _member_node(node, name)
            result[name] = without(child, item, below) if child else item
    return result or None


def _items_without(node: List, items: list[Any], fields: FieldSet) -> list[Any]:
    result = []
    for item in items:
        below = fields.get(node.element(item))
        if below is None:
            result.append(item)
        elif not is_member(below):
            result.append(without(node.item, item, below))
    return result
