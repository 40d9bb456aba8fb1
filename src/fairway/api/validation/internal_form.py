"""Objects in the form in which Kubernetes holds them, for messages that show one or the change of one."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from fairway.api.schema.shape import Field, Shape, shape_named
from fairway.api.schema.values import ZEROES
from fairway.api.validation.internal_fields import FIELDS
from fairway.api.validation.quoting import JSON_ESCAPES

# Structs that are the same inside and outside, and so are shown with the names of the API.
SHARED: Final = ("meta.v1.",)
HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
BEYOND_POD_SPEC: Final = frozenset({*HOST_FIELDS, "serviceAccount"})


def shown(struct: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """A struct, `core.v1.Taint`, as messages show it: every field, with its inner name."""
    shape = shape_named(struct)
    if struct.endswith(".PodSpec"):
        value = _with_host_fields(value)
    return {name: _shown_field(field, value.get(field.name)) for name, field in _fields(shape)}


def shown_list(struct: str, values: list[Any] | None) -> list[Any] | None:
    return None if values is None else [shown(struct, value) for value in values]


def difference(struct: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """What changes, as a unified diff of the two in JSON."""
    before, after = (_lines(shown(struct, value)) for value in (old, new))
    return "".join(list(difflib.unified_diff(before, after, n=3))[2:])


def _lines(value: Any) -> list[str]:
    text = json.dumps(value, indent=1, ensure_ascii=False).translate(JSON_ESCAPES)
    return [f"{line}\n" for line in text.split("\n")]


def _with_host_fields(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Inside, what a Pod shares with its host is part of its security context."""
    context = dict(spec.get("securityContext") or {})
    context |= {name: spec[name] for name in HOST_FIELDS if name in spec}
    return {**spec, "securityContext": context}


@cache
def _order() -> dict[str, list[str]]:
    rows = FIELDS.strip().replace("\n ", " ").split("\n")
    return {name: fields.split() for name, _, fields in (row.partition(": ") for row in rows)}


@cache
def _fields(shape: Shape) -> list[tuple[str, Field]]:
    """In the order of declaration; what the table doesn't know comes last."""
    fields = {name.lower(): field for name, field in shape.fields.items()}
    if shape.struct == "PodSecurityContext":
        pod = shape_named("core.v1.PodSpec").fields
        fields |= {name.lower(): pod[name] for name in HOST_FIELDS}
    if shape.struct == "PodSpec":
        fields = {name: field for name, field in fields.items() if field.name not in BEYOND_POD_SPEC}
    known = [name for name in _order().get(shape.struct, ()) if name.lower() in fields]
    ordered = [(name, fields.pop(name.lower())) for name in known]
    return ordered + [(field.name[:1].upper() + field.name[1:], field) for field in fields.values()]


def _shown_field(field: Field, value: Any) -> Any:
    if field.shape is not None and field.shape.name.startswith(SHARED):
        return _in_order(field.shape, value)
    if field.is_list:
        return value if value is None or field.shape is None else shown_list(field.shape.name, value)
    if field.is_map:
        return None if value is None else dict(sorted(value.items()))
    if field.shape is not None:
        return None if value is None and field.pointer else shown(field.shape.name, value or {})
    if value is None and not field.pointer:
        return ZEROES.get(field.type)
    return value


def _in_order(shape: Shape, value: Any) -> Any:
    """A selector: its fields in the order of declaration, which is not that of the alphabet."""
    if not isinstance(value, dict):
        return value
    if shape.struct == "LabelSelector":
        wanted = ("matchLabels", "matchExpressions")
        return {name: value[name] for name in wanted if value.get(name)}
    return value
