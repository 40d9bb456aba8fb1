"""What strict decoding complains of: unknown fields and fields given twice, in document order.

Only complaints and their paths; the object itself is made in `conform`. Duplicates can be seen only in a
document that was read with `Members` for objects, since a dict has forgotten them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from fairway.api.schema.shape import Shape, shape_named

_MOST: Final = 100
"""Kubernetes stops collecting there."""


class StrictDecodingError(ValueError):
    """fieldValidation=Strict, and something to complain of."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__(f"strict decoding error: {', '.join(errors)}")
        self.errors = errors


class Members(dict[str, Any]):
    """A JSON object that remembers its members as they were written, repeated names included."""

    __slots__ = ("written",)

    def __init__(self, written: Iterable[tuple[str, Any]]) -> None:
        super().__init__()
        self.written = tuple(written)
        for name, value in self.written:
            self[name] = _merged(self.get(name), value)


def _merged(first: Any, second: Any) -> Any:
    """Go decodes a repeated object into the same struct or map, so its members add up."""
    if isinstance(first, Members) and isinstance(second, Members):
        return Members((*first.written, *second.written))
    return second


def strict_errors(obj: dict[str, Any], shape: Shape) -> list[str]:
    """`unknown field "spec.portz"`, `duplicate field "data.k"`…"""
    return _first(_struct_errors(obj, shape, ""))


def unknown_fields(obj: Any, shape: Shape) -> list[str]:
    """Unknown fields alone: those of a struct before those further down, as Go finds them in plain maps."""
    return _first(_unknown(obj, shape, ""))


def _unknown(obj: Any, shape: Shape, path: str) -> Iterator[str]:
    if not isinstance(obj, dict):
        return
    prefix = f"{path}." if path else ""
    for name in sorted(name for name in obj if name not in shape.fields):
        yield f'unknown field "{prefix}{name}"'
    for name, field in shape.fields.items():
        if name in obj and "&" in field.type:
            yield from _unknown_below(obj[name], field.type, f"{prefix}{name}")


def _unknown_below(value: Any, code: str, path: str) -> Iterator[str]:
    if code.startswith("&"):
        yield from _unknown(value, shape_named(code[1:]), path)
    elif code.startswith("[]") and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_below(item, code[2:], f"{path}[{index}]")
    elif code.startswith("{}") and isinstance(value, dict):
        for key, item in value.items():
            yield from _unknown_below(item, code[2:], f"{path}.{key}")


def repeated_members(document: Any, path: str = "") -> Iterator[str]:
    """Members given twice anywhere in a document that was read with `Members`, whatever it is about."""
    if isinstance(document, Members):
        seen = set()
        for name, value in document.written:
            place = f"{path}.{name}" if path else name
            if name in seen:
                yield f'duplicate field "{place}"'
            seen.add(name)
            yield from repeated_members(value, place)
    elif isinstance(document, list):
        for index, item in enumerate(document):
            yield from repeated_members(item, f"{path}[{index}]")


def _first(errors: Iterator[str]) -> list[str]:
    found: dict[str, None] = {}
    for error in errors:
        found[error] = None
        if len(found) == _MOST:
            break
    return list(found)


def _members(obj: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    return obj.written if isinstance(obj, Members) else obj.items()


def _struct_errors(obj: Any, shape: Shape, path: str) -> Iterator[str]:
    if not isinstance(obj, dict):
        return
    seen = set()
    for name, value in _members(obj):
        place = f"{path}.{name}" if path else name
        field = shape.fields.get(name)
        if field is None:
            yield f'unknown field "{place}"'
            continue
        if name in seen:
            yield f'duplicate field "{place}"'
        seen.add(name)
        yield from _value_errors(value, field.type, place)


def _value_errors(value: Any, code: str, path: str) -> Iterator[str]:
    if code.startswith("&"):
        yield from _struct_errors(value, shape_named(code[1:]), path)
    elif code.startswith("[]") and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _value_errors(item, code[2:], f"{path}[{index}]")
    elif code.startswith("{}") and isinstance(value, dict):
        yield from _map_errors(value, code[2:], path)


def _map_errors(value: dict[str, Any], code: str, path: str) -> Iterator[str]:
    seen = set()
    for key, item in _members(value):
        place = f"{path}.{key}"
        if key in seen:
            yield f'duplicate field "{place}"'
        seen.add(key)
        yield from _value_errors(item, code, place)
