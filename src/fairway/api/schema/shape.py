"""The shapes of objects: which fields a kind has, of which type, and how each is merged and kept.

The table (shapes.json, written by tools/generate_schema.py) is read at first use and each shape built when
it is first asked for. What is done with shapes (checking, merging, publishing) is in the modules beside
this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

_POINTER, _ALWAYS, _OMITZERO, _REQUIRED = 1, 2, 4, 8

_GO_NAMES: Final[Mapping[str, str]] = {
    "bytes": "[]uint8",
    "double": "float64",
    "quantity": "resource.Quantity",
    "intstr": "intstr.IntOrString",
    "time": "v1.Time",
    "microtime": "v1.MicroTime",
}


class _Table(msgspec.Struct, frozen=True):
    """shapes.json; the shapes stay undecoded until someone wants one."""

    kinds: dict[str, str]
    shapes: dict[str, msgspec.Raw]


class Field:
    """One field of a struct. `type` is a code: `string`, `int32`, `int64`, `bool`, `double`, `bytes`, `time`,
    `microtime`, `quantity`, `intstr`, `raw` (any JSON), `&NAME` (a struct), `[]CODE` (a list), `{}CODE` (a
    map)."""

    __slots__ = (
        "always",
        "default",
        "go",
        "list_keys",
        "list_type",
        "map_type",
        "merge_key",
        "name",
        "omit_zero",
        "pointer",
        "required",
        "strategy",
        "type",
    )

    def __init__(self, name: str, code: str, bits: int, extras: Mapping[str, Any] | None = None) -> None:
        extras = extras or {}
        self.name: Final = name
        self.type: Final = code
        self.pointer: Final = bool(bits & _POINTER)
        self.always: Final = bool(bits & _ALWAYS)
        self.omit_zero: Final = bool(bits & _OMITZERO)
        self.required: Final = bool(bits & _REQUIRED)
        self.go: Final[str] = extras.get("go") or go_type(code)
        self.merge_key: Final[str | None] = extras.get("key")
        self.strategy: Final[tuple[str, ...]] = (
            tuple(extras.get("strategy", "").split(",")) if "strategy" in extras else ()
        )
        self.list_type: Final[str | None] = extras.get("list")
        self.list_keys: Final[tuple[str, ...]] = tuple(extras.get("keys", ()))
        self.map_type: Final[str | None] = extras.get("map")
        self.default: Final[Any] = extras.get("default")

    @property
    def is_list(self) -> bool:
        return self.type.startswith("[]")

    @property
    def is_map(self) -> bool:
        return self.type.startswith("{}")

    @property
    def shape(self) -> Shape | None:
        """The struct that the field is, or that its list items or map values are."""
        _, found, name = self.type.partition("&")
        return shape_named(name) if found else None


class Shape:
    """A struct: its fields by JSON name, and whether apply treats it as one value (`map_type` atomic)."""

    __slots__ = ("fields", "map_type", "name")

    def __init__(self, name: str, map_type: str, fields: Mapping[str, Field]) -> None:
        self.name: Final = name
        self.map_type: Final = map_type
        self.fields: Final = fields

    @property
    def struct(self) -> str:
        """`ServicePort`: the Go struct, as error messages name it."""
        return self.name.rsplit(".", 1)[1]

    def __repr__(self) -> str:
        return f"Shape({self.name})"


class UnknownKind(LookupError):
    """No shape for that apiVersion and kind: we don't serve it."""


def go_type(code: str) -> str:
    """How Go spells a type that has no name of its own."""
    if code.startswith("[]"):
        return "[]" + go_type(code[2:])
    if code.startswith("{}"):
        return "map[string]" + go_type(code[2:])
    if code.startswith("&"):
        return "v1." + code.rsplit(".", 1)[1]
    return _GO_NAMES.get(code, code)


@cache
def _table() -> _Table:
    return msgspec.json.decode(Path(__file__).with_name("shapes.json").read_bytes(), type=_Table)


@cache
def shape_named(name: str) -> Shape:
    """The shape of a definition such as `core.v1.ServicePort`."""
    raw = _table().shapes.get(name)
    if raw is None:
        raise UnknownKind(name)
    map_type, rows = msgspec.json.decode(raw, type=tuple[str, list[list[Any]]])
    return Shape(name, map_type, {row[0]: Field(*row) for row in rows})


def shape_of(api_version: str, kind: str) -> Shape:
    """The shape of a served kind: `shape_of("apps/v1", "Deployment")`."""
    kinds = _table().kinds
    name = kinds.get(f"{api_version}/{kind}")
    if name is None and kind in ("DeleteOptions", "Status", "WatchEvent"):
        name = kinds[f"v1/{kind}"]  # every group has these, and they are the same everywhere
    if name is None:
        raise UnknownKind(f'no kind "{kind}" in version "{api_version}"')
    return shape_named(name)


def served_kinds() -> Mapping[str, str]:
    """`apps/v1/Deployment` → the name of its shape, for all kinds, lists included."""
    return _table().kinds


def shape_names() -> tuple[str, ...]:
    return tuple(_table().shapes)
