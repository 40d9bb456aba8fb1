"""Request bodies in `application/vnd.kubernetes.protobuf`, which Go's typed clients send, to plain JSON.

Driven by messages.json (tools/generate_schema.py): for each struct its field numbers, JSON names and types.
Numbers we don't know are passed over, as protobuf wants it. Answers are never written in this format.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from fairway.api.schema import timestamps
from fairway.api.schema.shape import UnknownKind, shape_of

_MAGIC: Final = b"k8s\x00"
_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Value = int | bytes


class BadProtobuf(ValueError):
    """The bytes are no protobuf message, or none of ours."""


class _Table(msgspec.Struct, frozen=True):
    messages: dict[str, msgspec.Raw]


@cache
def _table() -> _Table:
    return msgspec.json.decode(Path(__file__).with_name("messages.json").read_bytes(), type=_Table)


@cache
def _message(name: str) -> dict[int, tuple[str, str]]:
    """Field number → (JSON name, type)."""
    rows = msgspec.json.decode(_table().messages[name], type=list[tuple[int, str, str]])
    return {number: (field, code) for number, field, code in rows}


def decode(body: bytes, api_version: str = "", kind: str = "") -> dict[str, Any]:
    """The object in a request body, with its apiVersion and kind: those given here where it has none.

    Of a kind that we don't know, only these two."""
    if not body.startswith(_MAGIC):
        prefix = " ".join(str(byte) for byte in _MAGIC)
        raise BadProtobuf(
            f"provided data does not appear to be a protobuf message, expected prefix [{prefix}]"
        )
    envelope = dict(_fields(body[len(_MAGIC) :]))
    type_meta = dict(_fields(_content(envelope.get(1, b""))))
    version = _text(type_meta.get(1, b"")) or api_version
    kind = _text(type_meta.get(2, b"")) or kind
    raw = _content(envelope.get(2, b""))
    return {"apiVersion": version, "kind": kind, **_object(raw, _text(envelope.get(4, b"")), version, kind)}


def _object(raw: bytes, content_type: str, version: str, kind: str) -> dict[str, Any]:
    if content_type == "application/json":
        try:
            return msgspec.json.decode(raw, type=dict[str, Any])
        except msgspec.DecodeError as bad:
            raise BadProtobuf(str(bad)) from None
    try:
        return decode_message(raw, shape_of(version, kind).name)
    except UnknownKind:
        return {}


def decode_message(data: bytes, name: str) -> dict[str, Any]:
    """A message of a struct such as `core.v1.ServicePort`."""
    fields = _message(name)
    found: dict[str, Any] = {}
    for number, value in _fields(data):
        known = fields.get(number)
        if known is None:
            continue
        field, code = known
        if not field:  # an embedded struct: a message of its own here, but not in JSON
            found |= decode_message(_content(value), code[1:])
        elif code.startswith("[]"):
            found.setdefault(field, []).extend(_items(value, code[2:]))
        elif code.startswith("{}"):
            key, item = _entry(_content(value), code[2:])
            found.setdefault(field, {})[key] = item
        else:
            found[field] = _value(value, code)
    return found


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """The fields of a message as they stand on the wire."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise BadProtobuf(f"proto: illegal tag {number} (wire type {wire})")
        value: Value
        if wire == _VARINT:
            value, at = _varint(data, at)
        elif wire in (_DELIMITED, _FIXED64, _FIXED32):
            if wire == _DELIMITED:
                size, at = _varint(data, at)
            else:
                size = 8 if wire == _FIXED64 else 4
            value = data[at : at + size]
            at += size
        else:
            raise BadProtobuf(f"proto: illegal wireType {wire}")
        if at > end:
            raise BadProtobuf("unexpected EOF")
        yield number, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data):
            raise BadProtobuf("unexpected EOF")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift > 63:
            raise BadProtobuf("proto: integer overflow")


def _content(value: Value) -> bytes:
    if isinstance(value, int):
        raise BadProtobuf("proto: wrong wireType = 0")
    return value


def _text(value: Value) -> str:
    return _content(value).decode("utf-8", "replace")


def _value(value: Value, code: str) -> Any:
    if code.startswith("&"):
        return decode_message(_content(value), code[1:])
    return _SCALARS[code](value)


def _items(value: Value, code: str) -> list[Any]:
    """What one occurrence of a repeated field adds; numbers may come packed, many in one."""
    if code in ("int32", "int64") and isinstance(value, bytes):
        numbers, at = [], 0
        while at < len(value):
            number, at = _varint(value, at)
            numbers.append(_int(number))
        return numbers
    return [_value(value, code)]


def _entry(data: bytes, code: str) -> tuple[str, Any]:
    """A map's entry: 1 the key, 2 the value. Lists as values are messages with their items in 1."""
    parts = dict(_fields(data))
    key = _text(parts.get(1, b""))
    value = parts.get(2, b"" if code != "bool" and not code.startswith("int") else 0)
    if code.startswith("[]"):
        return key, [_value(item, code[2:]) for number, item in _fields(_content(value)) if number == 1]
    return key, _value(value, code)


def _int(value: Value) -> int:
    if isinstance(value, bytes):
        raise BadProtobuf("proto: wrong wireType = 2")
    return value - (1 << 64) if value >> 63 else value


def _bool(value: Value) -> bool:
    return bool(_int(value))


def _double(value: Value) -> float:
    number: float = struct.unpack("<d", _content(value))[0]
    return number


def _bytes(value: Value) -> str:
    return base64.b64encode(_content(value)).decode()


def _quantity(value: Value) -> str:
    return _text(dict(_fields(_content(value))).get(1, b"0"))


def _int_or_string(value: Value) -> int | str:
    parts = dict(_fields(_content(value)))
    return _text(parts.get(3, b"")) if parts.get(1, 0) else _int(parts.get(2, 0))


def _moment(value: Value) -> datetime | None:
    parts = dict(_fields(_content(value)))
    seconds, nanos = _int(parts.get(1, 0)), _int(parts.get(2, 0))
    if not seconds and not nanos:
        return None
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise BadProtobuf("time out of range") from None


def _time(value: Value) -> str | None:
    moment = _moment(value)
    return timestamps.spell(moment) if moment else None


def _microtime(value: Value) -> str | None:
    moment = _moment(value)
    return timestamps.spell(moment, timestamps.MICROSECONDS) if moment else None


def _raw(value: Value) -> Any:
    """JSON inside protobuf: managed fields, the data of a ControllerRevision."""
    content = _content(dict(_fields(_content(value))).get(1, b""))
    try:
        return msgspec.json.decode(content) if content else None
    except msgspec.DecodeError as bad:
        raise BadProtobuf(str(bad)) from None


_SCALARS: Final[dict[str, Callable[[Value], Any]]] = {
    "string": _text,
    "int32": _int,
    "int64": _int,
    "bool": _bool,
    "double": _double,
    "bytes": _bytes,
    "quantity": _quantity,
    "intstr": _int_or_string,
    "time": _time,
    "microtime": _microtime,
    "raw": _raw,
}
