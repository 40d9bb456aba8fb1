"""Reads how a Kubernetes release spells its objects out of one of its own programs: kubectl, for instance.

A Go program carries its struct types for reflection: every field's name, Go type, json tag (omitempty or
not) and protobuf number. OpenAPI says none of these. The facts go into `tools/go_fields.txt`, which
`generate_schema.py` reads; fields that are younger than the program stand in `tools/go_fields_later.txt`.

    python tools/read_go_types.py /usr/bin/kubectl > tools/go_fields.txt

Reads the layout of Go 1.18–1.23 on amd64, ELF, not position independent (section .typelink).
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

KINDS = {
    1: "bool",
    5: "int32",
    6: "int64",
    8: "uint8",
    10: "uint32",
    11: "uint64",
    14: "float64",
    24: "string",
}
MAP, POINTER, SLICE, STRUCT = 21, 22, 23, 25
NAMED = 4  # tflag bit: the type has a name of its own
META = "k8s.io/apimachinery/pkg/apis/meta/v1"
GROUPS = (
    "core",
    "apps",
    "autoscaling",
    "discovery",
    "networking",
    "coordination",
    "events",
    "policy",
    "authentication",
    "authorization",
    "rbac",
)


@dataclass(frozen=True)
class Type:
    address: int
    text: str
    kind: int
    named: bool
    package: str
    element: int = 0
    fields_at: int = 0
    field_count: int = 0


@dataclass(frozen=True)
class GoField:
    name: str
    tag: str
    embedded: bool
    type: Type


class GoProgram:
    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.sections = dict(self._sections())
        self.types_base = self.sections[".rodata"][0]

    def _sections(self) -> Iterator[tuple[str, tuple[int, int, int]]]:
        (table,) = struct.unpack_from("<Q", self.data, 40)
        count, names_index = struct.unpack_from("<HH", self.data, 60)
        headers = [struct.unpack_from("<IIQQQQ", self.data, table + 64 * i) for i in range(count)]
        names_at = headers[names_index][4]
        for name_at, _kind, _flags, address, offset, size in headers:
            end = self.data.index(b"\0", names_at + name_at)
            yield self.data[names_at + name_at : end].decode(), (address, offset, size)

    def offset(self, address: int) -> int:
        for start, offset, size in self.sections.values():
            if start and start <= address < start + size:
                return offset + address - start
        raise LookupError(hex(address))

    def _counted(self, at: int) -> tuple[str, int]:
        """A string behind its length, a varint; and where it ends."""
        length = shift = 0
        while True:
            byte = self.data[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return self.data[at : at + length].decode("utf-8", "replace"), at + length

    def name(self, address: int) -> tuple[str, str, bool]:
        """Name, tag, and whether the field is embedded."""
        at = self.offset(address)
        flags = self.data[at]
        text, end = self._counted(at + 1)
        tag = self._counted(end)[0] if flags & 2 else ""
        return text, tag, bool(flags & 8)

    @cache  # noqa: B019 (one program a run)
    def type(self, address: int) -> Type:
        at = self.offset(address)
        flags, kind = self.data[at + 20], self.data[at + 23] & 31
        (text_at,) = struct.unpack_from("<i", self.data, at + 40)
        text = self.name(self.types_base + text_at)[0]
        if flags & 2:
            text = text[1:]
        element = fields_at = count = 0
        rest = at + 48
        behind = 0
        if kind in (POINTER, SLICE):
            (element,) = struct.unpack_from("<Q", self.data, rest)
            behind = 8
        elif kind == MAP:
            (element,) = struct.unpack_from("<Q", self.data, rest + 8)
        elif kind == STRUCT:
            _, fields_at, count = struct.unpack_from("<QQQ", self.data, rest)
            behind = 32
        package = ""
        if flags & 1 and (kind in KINDS or kind in (SLICE, STRUCT)):
            (package_at,) = struct.unpack_from("<i", self.data, rest + behind)
            package = self.name(self.types_base + package_at)[0] if package_at else ""
        return Type(address, text, kind, bool(flags & NAMED), package, element, fields_at, count)

    def fields(self, of: Type) -> list[GoField]:
        found = []
        for i in range(of.field_count):
            name_at, type_at = struct.unpack_from("<QQ", self.data, self.offset(of.fields_at) + 24 * i)
            name, tag, embedded = self.name(name_at)
            found.append(GoField(name, tag, embedded, self.type(type_at)))
        return found

    def structs(self) -> list[Type]:
        """Every struct type that the program's type links lead to."""
        _, at, size = self.sections[".typelink"]
        waiting = [self.types_base + link for (link,) in struct.iter_unpack("<i", self.data[at : at + size])]
        seen: dict[int, Type] = {}
        while waiting:
            address = waiting.pop()
            if address in seen:
                continue
            found = seen[address] = self.type(address)
            if found.element:
                waiting.append(found.element)
            if found.kind == STRUCT:
                waiting += [field.type.address for field in self.fields(found)]
        return [found for found in seen.values() if found.kind == STRUCT and found.named]

    def underlying(self, of: Type) -> str:
        """The type spelled without names, structs excepted: `[]v1.IPFamily` is `[]string`."""
        if of.kind == POINTER:
            return "*" + self.underlying(self.type(of.element))
        if of.kind == SLICE:
            return "[]" + self.underlying(self.type(of.element))
        if of.kind == MAP:
            return "map[string]" + self.underlying(self.type(of.element))
        return KINDS.get(of.kind, of.text)


def short(package: str, name: str) -> str:
    """`k8s.io/api/core/v1` and `v1.Pod` make `core.v1.Pod`, the last part of the OpenAPI name."""
    return ".".join(package.split("/")[-2:]) + "." + name.split(".")[-1]


def wanted(found: Type) -> bool:
    packages = {f"k8s.io/api/{group}/v1" for group in GROUPS}
    return found.package == META or found.package in packages


def describe(program: GoProgram, field: GoField) -> str | None:
    """`json-name go-type[=underlying] omitempty|omitzero|always protobuf-number`, or None if not in JSON."""
    json_tag = re.search(r'json:"([^"]*)"', field.tag)
    number = re.search(r'protobuf:"\w+,(\d+)', field.tag)
    name, *options = json_tag[1].split(",") if json_tag else ("",)
    place = number[1] if number else "0"
    if "inline" in options or (field.embedded and not name):
        return f"  + {short(field.type.package, field.type.text)} always {place}"
    if name in ("", "-"):
        return None
    text, plain = field.type.text, program.underlying(field.type)
    spelled = text if text == plain else f"{text}={plain}"
    omit = next((o for o in options if o in ("omitzero", "omitempty")), "always")
    return f"  {name} {spelled} {omit} {place}"


def main(path: str) -> None:
    program = GoProgram(Path(path))
    for found in sorted(filter(wanted, program.structs()), key=lambda t: short(t.package, t.text)):
        rows = [row for field in program.fields(found) if (row := describe(program, field))]
        if rows:
            print(short(found.package, found.text), *rows, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
