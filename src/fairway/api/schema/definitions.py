"""The shapes as OpenAPI publishes them: one schema a struct, in the dialect of version 2 or 3.

Descriptions come from descriptions.json beside this file if it was made at installation
(tools/generate_schema.py --descriptions); without it everything works and the texts are empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from fairway.api.schema.shape import Field, served_kinds, shape_named

Schema = dict[str, Any]

_MACHINERY: Final = "io.k8s.apimachinery.pkg"
_SCALARS: Final[Mapping[str, Schema]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
}
# Types with a spelling of their own, which are definitions in OpenAPI and codes in our table.
SPECIAL: Final[Mapping[str, tuple[str, Schema]]] = {
    "quantity": (f"{_MACHINERY}.api.resource.Quantity", {"type": "string"}),
    "intstr": (f"{_MACHINERY}.util.intstr.IntOrString", {"type": "string", "format": "int-or-string"}),
    "time": (f"{_MACHINERY}.apis.meta.v1.Time", {"type": "string", "format": "date-time"}),
    "microtime": (f"{_MACHINERY}.apis.meta.v1.MicroTime", {"type": "string", "format": "date-time"}),
    "raw": (f"{_MACHINERY}.runtime.RawExtension", {"type": "object"}),
}
_FIELDS_V1: Final = (f"{_MACHINERY}.apis.meta.v1.FieldsV1", {"type": "object"})
PATCH: Final = (f"{_MACHINERY}.apis.meta.v1.Patch", {"type": "object"})


def full_name(name: str) -> str:
    """`core.v1.Pod` → `io.k8s.api.core.v1.Pod`."""
    if name.startswith("meta.v1."):
        return f"{_MACHINERY}.apis.{name}"
    return f"io.k8s.api.{name}"


def reachable(names: Iterable[str]) -> list[str]:
    """The shapes that these contain, themselves included, sorted."""
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [field.shape.name for field in shape_named(name).fields.values() if field.shape]
    return sorted(seen)


class Dialect:
    """Builds schemas; version 2 and 3 differ in where references lead and how they carry a description."""

    def __init__(self, version: int, group_versions: Iterable[tuple[str, str]]) -> None:
        self.base = "#/definitions/" if version == 2 else "#/components/schemas/"
        self.wrap = version == 3
        self.group_versions = sorted(set(group_versions))
        self.texts = _descriptions()

    def reference(self, name: str) -> Schema:
        return {"$ref": self.base + name}

    def definitions(self, names: Iterable[str]) -> dict[str, Schema]:
        found = {full_name(name): self._struct(name) for name in reachable(names)}
        found |= {name: self._special(code, body) for code, (name, body) in SPECIAL.items()}
        found[_FIELDS_V1[0]] = self._described(dict(_FIELDS_V1[1]), "meta.v1.FieldsV1", "")
        found[PATCH[0]] = dict(PATCH[1])
        return dict(sorted(found.items()))

    def _special(self, code: str, body: Schema) -> Schema:
        schema = dict(body)
        if self.wrap and code in ("quantity", "intstr"):
            number = "number" if code == "quantity" else "integer"
            schema.pop("type")
            schema["oneOf"] = [{"type": "string"}, {"type": number}]
        short = ".".join(SPECIAL[code][0].split(".")[-3:])
        return self._described(schema, short, "")

    def _struct(self, name: str) -> Schema:
        shape = shape_named(name)
        schema = self._described({"type": "object"}, name, "")
        schema["properties"] = {field.name: self._property(name, field) for field in shape.fields.values()}
        if needed := [field.name for field in shape.fields.values() if field.required]:
            schema["required"] = needed
        if kinds := self._kinds(name):
            schema["x-kubernetes-group-version-kind"] = kinds
        if shape.map_type:
            schema["x-kubernetes-map-type"] = shape.map_type
        return schema

    def _property(self, owner: str, field: Field) -> Schema:
        schema = self._type(field.type, "fields" if field.name == "fieldsV1" else "")
        if self.wrap and "$ref" in schema:
            schema = {"allOf": [schema]}  # beside a bare reference, version 3 allows nothing else
        schema = self._described(schema, owner, field.name)
        marks = {
            "default": field.default,
            "x-kubernetes-list-map-keys": list(field.list_keys) or None,
            "x-kubernetes-list-type": field.list_type,
            "x-kubernetes-map-type": field.map_type,
            "x-kubernetes-patch-merge-key": field.merge_key,
            "x-kubernetes-patch-strategy": ",".join(field.strategy) or None,
        }
        return schema | {mark: value for mark, value in marks.items() if value is not None}

    def _type(self, code: str, hint: str = "") -> Schema:
        if code.startswith("[]"):
            return {"type": "array", "items": self._type(code[2:])}
        if code.startswith("{}"):
            return {"type": "object", "additionalProperties": self._type(code[2:])}
        if code.startswith("&"):
            return self.reference(full_name(code[1:]))
        if code in SPECIAL:
            return self.reference(_FIELDS_V1[0] if hint else SPECIAL[code][0])
        return dict(_SCALARS[code])

    def _described(self, schema: Schema, owner: str, field: str) -> Schema:
        text = self.texts.get(owner, {}).get(field)
        return {"description": text, **schema} if text else schema

    def _kinds(self, name: str) -> list[dict[str, str]]:
        kind = name.rsplit(".", 1)[1]
        if kind in ("DeleteOptions", "WatchEvent"):
            return [{"group": g, "kind": kind, "version": v} for g, v in self.group_versions]
        found = [key for key, shape in served_kinds().items() if shape == name]
        return [
            {
                "group": key.split("/")[0] if key.count("/") == 2 else "",
                "kind": kind,
                "version": key.split("/")[-2],
            }
            for key in found
        ]


def _descriptions() -> Mapping[str, Mapping[str, str]]:
    """Read for each document that is built, which is once a process; not kept."""
    try:
        data = Path(__file__).with_name("descriptions.json").read_bytes()
    except FileNotFoundError:
        return {}
    return msgspec.json.decode(data, type=dict[str, dict[str, dict[str, str]]])["descriptions"]
