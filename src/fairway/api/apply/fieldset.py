"""Sets of fields, in the form in which managedFields carry them (FieldsV1), and what can be done with them.

A set is a tree of dictionaries by path element: `f:name` a field, `k:{…}` a list item by its keys, `v:…` by
its value, `i:0` by its place. An empty dictionary below the root is a field that belongs to the set; one that
also has children says so with `.`. Nothing here changes a set in place, so sets may share parts and be
encoded as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

FieldSet = dict[str, Any]

SELF: Final = "."
MEMBER: Final[FieldSet] = {}
"""A field that belongs to the set and has no children in it."""
NOTHING: Final[FieldSet] = {}
"""The empty set, as a root."""

_ALONE: Final[FieldSet] = {SELF: MEMBER}


def is_member(node: FieldSet) -> bool:
    return not node or SELF in node


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """All fields of either root."""
    if not one or not other:
        return one or other
    return _joined(one, other)


def _joined(one: FieldSet, other: FieldSet) -> FieldSet:
    result = dict(one)
    for name, node in other.items():
        known = result.get(name)
        result[name] = node if known is None else _union(known, node)
    return result


def _union(one: FieldSet, other: FieldSet) -> FieldSet:
    if not one and not other:
        return MEMBER
    return _joined(one or _ALONE, other or _ALONE)


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """Fields of one that are not in the other; those below a field of the other stay."""
    if not one or not other:
        return one
    return _without(one, other)


def _without(one: FieldSet, other: FieldSet) -> FieldSet:
    result = {}
    for name, node in one.items():
        known = other.get(name)
        if known is None:
            result[name] = node
        elif (left := _difference(node, known)) is not None:
            result[name] = left
    return result


def _difference(one: FieldSet, other: FieldSet) -> FieldSet | None:
    if not one and not other:
        return None
    return _closed(_without(one or _ALONE, other or _ALONE))


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    result = {}
    for name, node in one.items():
        known = other.get(name)
        if known is not None and (both := _intersection(node, known)) is not None:
            result[name] = both
    return result


def _intersection(one: FieldSet, other: FieldSet) -> FieldSet | None:
    if not one and not other:
        return MEMBER
    return _closed(intersection(one or _ALONE, other or _ALONE))


def outside(one: FieldSet, other: FieldSet) -> FieldSet:
    """Fields of one that are neither in the other nor below a field of it."""
    result = {}
    for name, node in one.items():
        known = other.get(name)
        if known is None:
            result[name] = node
        elif not is_member(known):
            left = _closed(outside(node or _ALONE, known))
            if left is not None:
                result[name] = left
    return result


def _closed(node: FieldSet) -> FieldSet | None:
    """A node as sets hold it: none at all without a field, a plain member if it is nothing else."""
    if not node:
        return None
    return MEMBER if len(node) == 1 and SELF in node else node


def has(fields: FieldSet, path: tuple[str, ...]) -> bool:
    node: FieldSet | None = fields
    for element in path:
        node = None if node is None else node.get(element)
    return node is not None and is_member(node)


def set_of(*path: str) -> FieldSet:
    """The set of one field."""
    node = MEMBER
    for element in reversed(path):
        node = {element: node}
    return node


def paths(fields: FieldSet) -> Iterator[tuple[str, ...]]:
    """Every field: at each level first the members, then what is below them, in order."""
    names = sorted((name for name in fields if name != SELF), key=_order)
    for name in names:
        if is_member(fields[name]):
            yield (name,)
    for name in names:
        for path in paths(fields[name]):
            yield (name, *path)


_KINDS: Final = {"f": 0, "k": 1, "v": 2, "i": 3}


def _order(element: str) -> tuple[int, str]:
    return _KINDS.get(element[:1], 4), element[2:]
