"""Reading a field out of an object as it was decoded from JSON, where any step may be absent or null.

Each function states the type it answers with, and answers with that type's zero value for what is not there,
as the typed objects of Kubernetes do. What the values mean is left to the modules of the kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]
"""A decoded JSON object; always a dict, which these functions only read."""


def at(obj: Object, *path: str) -> Any:
    """The value at path, or None where a step of it is missing."""
    value: Any = obj
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def text(obj: Object, *path: str) -> str:
    return at(obj, *path) or ""


def number(obj: Object, *path: str) -> int:
    return at(obj, *path) or 0


def entries(obj: Object, *path: str) -> list[Any]:
    return at(obj, *path) or []


def mapping(obj: Object, *path: str) -> Object:
    return at(obj, *path) or {}


def name_of(obj: Object) -> str:
    return text(obj, "metadata", "name")
