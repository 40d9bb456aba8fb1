"""How apply sees a kind: which values are owned as a whole, and which field by field, key by key, item by
item.

Built from the shapes in `api/schema`. A struct's fields, a map's entries and the items of sets and keyed
lists are owned one by one; scalars, and whatever is declared atomic, as a whole.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from fairway.api.apply.elements import key_element, value_element
from fairway.api.apply.fieldset import FieldSet, is_member
from fairway.api.schema.shape import Field, Shape, shape_named, shape_of

_SCALARS: Final = {
    "string": "string",
    "bytes": "string",
    "int32": "numeric",
    "int64": "numeric",
    "double": "numeric",
    "bool": "boolean",
    "raw": "anything",
}


class Scalar:
    __slots__ = ("type",)
    atomic: Final = True

    def __init__(self, kind: str) -> None:
        self.type: Final = kind
        """`string`, `numeric`, `boolean`, `untyped` (any scalar) or `anything`."""


class Struct:
    __slots__ = ("_fields", "_shape", "atomic")

    def __init__(self, shape: Shape, atomic: bool) -> None:
        self._shape = shape
        self.atomic = atomic
        self._fields: dict[str, tuple[str, Node]] | None = None

    @property
    def fields(self) -> dict[str, tuple[str, Node]]:
        """By name: the path element, and what is behind it. Made at first use: shapes may contain
        themselves."""
        if self._fields is None:
            self._fields = {f.name: (f"f:{f.name}", _field_node(f)) for f in self._shape.fields.values()}
        return self._fields


class Map:
    __slots__ = ("atomic", "item")

    def __init__(self, item: Node, atomic: bool) -> None:
        self.item = item
        self.atomic = atomic


class List:
    """`keys` tell the items of a keyed list apart; a list without them that is not atomic is a set."""

    __slots__ = ("atomic", "defaults", "item", "keys")

    def __init__(self, item: Node, atomic: bool, keys: tuple[str, ...]) -> None:
        self.item = item
        self.atomic = atomic
        self.keys = tuple(sorted(keys))
        self.defaults = _key_defaults(item, self.keys)

    def element(self, item: Any) -> str:
        """The path element of an item."""
        if not self.keys:
            return value_element(item)
        find = item.get if isinstance(item, dict) else {}.get
        return key_element({key: find(key, self.defaults.get(key)) for key in self.keys})


Node = Scalar | Struct | Map | List


def structure_of(api_version: str, kind: str) -> Struct:
    return _struct(shape_of(api_version, kind).name)


@cache
def _struct(name: str) -> Struct:
    shape = shape_named(name)
    return Struct(shape, shape.map_type == "atomic")


def _field_node(field: Field) -> Node:
    return _node(field.type, field.list_type, field.list_keys, field.map_type)


def _node(
    code: str, list_type: str | None = None, list_keys: tuple[str, ...] = (), map_type: str | None = None
) -> Node:
    if code.startswith("&"):
        shape = shape_named(code[1:])
        return (
            Struct(shape, True)
            if map_type == "atomic" and shape.map_type != "atomic"
            else _struct(shape.name)
        )
    if code.startswith("[]"):
        return List(_node(code[2:]), list_type not in ("set", "map"), list_keys)
    if code.startswith("{}"):
        return Map(_node(code[2:]), map_type == "atomic")
    return Scalar(_SCALARS.get(code, "untyped"))


def _key_defaults(item: Node, keys: tuple[str, ...]) -> dict[str, Any]:
    if not keys or not isinstance(item, Struct):
        return {}
    fields = item._shape.fields
    return {key: fields[key].default for key in keys if key in fields and fields[key].default is not None}


def with_named_fields(node: Node | None, fields: FieldSet) -> FieldSet:
    """The set with all declared fields that have something below them in it."""
    result: FieldSet = {}
    for element, child in fields.items():
        below, named = _below(node, element)
        inner = with_named_fields(below, child) if child else child
        result[element] = {".": {}, **inner} if named and not is_member(inner) else inner
    return result


def _below(node: Node | None, element: str) -> tuple[Node | None, bool]:
    """What is behind an element, and whether that is a declared field."""
    if element.startswith("f:"):
        if isinstance(node, Struct) and (known := node.fields.get(element[2:])):
            return known[1], True
        return (node.item if isinstance(node, Map) else None), False
    return (node.item if isinstance(node, List) and element.startswith("k:") else None), False
