"""Makes a client's JSON into the object Kubernetes would have stored.

What Go's decoding and encoding do to an object happens here: unknown fields go, nulls and empty values go
where a field is `omitempty`, zero values appear where it is not. Defaults and validation come later. Each
shape is compiled once into nested functions; saying where something is wrong is left to the rare path.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

from fairway.api.schema.shape import Field, Shape, go_type, shape_named
from fairway.api.schema.strict import StrictDecodingError, strict_errors
from fairway.api.schema.values import ZEROES, Decoder, Mismatch, amount, scalar_decoder

_DROP: Final = object()
"""Answer of a field's decoder: leave the field out."""


def conform(
    obj: dict[str, Any], shape: Shape, field_validation: str = "Ignore"
) -> tuple[dict[str, Any], list[str]]:
    """The object as it would be stored, and warnings. Parts of `obj` may be shared with the result.

    Raises Undecodable for wrong types and StrictDecodingError (under `Strict`) for unknown fields.
    """
    unknown: list[str] = []
    stored = _struct(shape.name)(obj, unknown)
    if not unknown or field_validation == "Ignore":
        return stored, []
    errors = strict_errors(obj, shape)
    if field_validation == "Strict":
        raise StrictDecodingError(errors)
    return stored, errors


@cache
def _struct(name: str) -> Decoder:
    """Compiles a shape. Hot: about 0.1 µs a field, so plain strings are handled in line."""
    shape = shape_named(name)
    struct, go = shape.struct, go_type(f"&{name}")
    plain = str
    decoders: dict[str, Any] = {f.name: plain if _is_plain(f) else _field(f) for f in shape.fields.values()}
    find = decoders.get
    fill = [(f.name, _zero_maker(f)) for f in shape.fields.values() if _is_always_there(f)]

    def decode(value: Any, unknown: list[str]) -> Any:
        if type(value) is not dict:
            if value is not None:
                raise Mismatch(value, go, is_struct=True)
            value = {}
        stored: dict[str, Any] = {}
        key = ""
        try:
            for key, item in value.items():
                decoder = find(key)
                if decoder is plain:
                    if type(item) is str:
                        if item:
                            stored[key] = item
                    elif item is not None:
                        raise Mismatch(item, shape.fields[key].go)
                elif decoder is None:
                    unknown.append(key)
                else:
                    item = decoder(item, unknown)
                    if item is not _DROP:
                        stored[key] = item
        except Mismatch as wrong:
            wrong.within(struct, key)
            raise
        for key, zero in fill:
            if key not in stored:
                stored[key] = zero()
        return stored

    return decode


def _is_plain(field: Field) -> bool:
    return field.type == "string" and not field.pointer and not field.always


def _is_always_there(field: Field) -> bool:
    """Go writes the field whatever is in it: no omitempty, or one without effect, as on structs."""
    if field.omit_zero or (field.pointer and not field.always):
        return False
    # A zero target port stands for "not given" to everyone who reads it, so it is left out.
    return field.always or field.type.startswith("&") or field.type in ("time", "microtime", "quantity")


def _zero_maker(field: Field) -> Callable[[], Any]:
    if field.type.startswith("&") and not field.pointer:
        return lambda: _struct(field.type[1:])({}, [])
    zero = None if field.pointer else ZEROES.get(field.type)
    return lambda: zero


def _field(field: Field) -> Decoder:
    """The field's decoder: its type's, and what becomes of null and empty values."""
    decode = _decoder(field.type, field.go)
    if field.pointer:
        absent = None if field.always else _DROP
        return lambda value, unknown: absent if value is None else decode(value, unknown)
    if field.type[:2] in ("[]", "{}") or field.type == "bytes":
        return partial(_collection, decode, None if field.always else _DROP)
    if field.omit_zero:
        return lambda value, unknown: _DROP if (found := decode(value, unknown)) is None else found
    if field.always or field.type.startswith("&") or field.type not in ZEROES or field.type == "quantity":
        return decode
    return lambda value, unknown: decode(value, unknown) or _DROP


def _collection(decode: Decoder, absent: Any, value: Any, unknown: list[str]) -> Any:
    """Empty or absent is the same: protobuf, in which Kubernetes stores objects, can't tell."""
    return absent if value is None else decode(value, unknown) or absent


def _decoder(code: str, go: str) -> Decoder:
    """The decoder of a type, null included, which in Go leaves the zero value."""
    if code.startswith("&"):
        return _lazy_struct(code[1:])
    if code.startswith("[]"):
        return _list(code[2:], go)
    if code.startswith("{}"):
        return _map(code[2:], go)
    return scalar_decoder(code, go)


def _lazy_struct(name: str) -> Decoder:
    """Compiled at first use: shapes may contain themselves, and most are never met."""
    compiled: list[Decoder] = []

    def decode(value: Any, unknown: list[str]) -> Any:
        if not compiled:
            compiled.append(_struct(name))
        return compiled[0](value, unknown)

    return decode


def _list(code: str, go: str) -> Decoder:
    decode_item = _decoder(code, go.removeprefix("[]") if go.startswith("[]") else go_type(code))

    def decode(value: Any, unknown: list[str]) -> Any:
        if type(value) is not list:
            raise Mismatch(value, go)
        return [decode_item(item, unknown) for item in value]

    return decode


def _map(code: str, go: str) -> Decoder:
    if code == "quantity":
        return partial(_amounts, go)
    decode_item = _decoder(code, go.partition("]")[2] if go.startswith("map[") else go_type(code))
    plain = str if code == "string" else object

    def decode(value: Any, unknown: list[str]) -> Any:
        if type(value) is not dict:
            raise Mismatch(value, go)
        for item in value.values():
            if type(item) is not plain:
                break
        else:
            return value
        return {
            key: None if item is None and code == "bytes" else decode_item(item, unknown)
            for key, item in value.items()
        }

    return decode


def _amounts(go: str, value: Any, unknown: list[str]) -> Any:
    """A resource list."""
    if type(value) is not dict:
        raise Mismatch(value, go)
    return {key: amount(item, unknown) for key, item in value.items()}
