"""OpenAPI 2 in the protobuf encoding of gnostic (OpenAPIv2.proto), which kubectl asks for.

A table gives each message's members: JSON name → (field number, how the value is encoded). What is in no
table and starts with `x-` becomes a vendor extension, its value spelled as YAML, of which JSON is a part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

Encoder = Callable[[Any], bytes]
Member = tuple[int, Callable[[int, Any], bytes]]


def encode(document: dict[str, Any]) -> bytes:
    """An OpenAPI 2 document as a gnostic openapi.v2.Document."""
    return _message(_DOCUMENT, 16, document)


def varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def delimited(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def _text(number: int, value: str) -> bytes:
    return delimited(number, value.encode())


def _texts(number: int, values: list[str]) -> bytes:
    return b"".join(_text(number, value) for value in values)


def _flag(number: int, value: bool) -> bytes:
    return varint(number << 3) + b"\x01" if value else b""


def _one(encoder: Encoder, number: int, value: Any) -> bytes:
    return delimited(number, encoder(value))


def _many(encoder: Encoder, number: int, values: list[Any]) -> bytes:
    return b"".join(delimited(number, encoder(value)) for value in values)


def _any(value: Any) -> bytes:
    return _text(2, msgspec.json.encode(value).decode())


def _named(encoder: Encoder, number: int, values: Mapping[str, Any]) -> bytes:
    """A map: messages of name and value."""
    entries = (_text(1, name) + delimited(2, encoder(value)) for name, value in values.items())
    return b"".join(delimited(number, entry) for entry in entries)


def _message(members: Mapping[str, Member], extensions: int, value: Mapping[str, Any]) -> bytes:
    parts = []
    for name, content in value.items():
        member = members.get(name)
        if member is not None:
            parts.append(member[1](member[0], content))
        elif name.startswith("x-"):
            parts.append(delimited(extensions, _text(1, name) + delimited(2, _any(content))))
    return b"".join(parts)


def _schema(value: dict[str, Any]) -> bytes:
    return _message(_SCHEMA, 31, value)


def _path_item(value: dict[str, Any]) -> bytes:
    return _message(_PATH_ITEM, 10, value)


def _operation(value: dict[str, Any]) -> bytes:
    return _message(_OPERATION, 13, value)


def _parameter(value: dict[str, Any]) -> bytes:
    """ParametersItem → Parameter → BodyParameter, or NonBodyParameter → that of its place."""
    if value["in"] == "body":
        return delimited(1, delimited(1, _message(_BODY_PARAMETER, 6, value)))
    place, members, extensions = _PLACES[value["in"]]
    return delimited(1, delimited(2, delimited(place, _message(members, extensions, value))))


def _response(value: dict[str, Any]) -> bytes:
    return delimited(1, _message(_RESPONSE, 5, value))


_PROPERTIES: Final = partial(_named, _schema)
_SCHEMA: Final[dict[str, Member]] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "description": (4, _text),
    "default": (5, partial(_one, _any)),
    "required": (19, _texts),
    "additionalProperties": (21, partial(_one, lambda value: delimited(1, _schema(value)))),
    "type": (22, partial(_one, partial(_text, 1))),
    "items": (23, partial(_one, lambda value: delimited(1, _schema(value)))),
    "properties": (25, partial(_one, partial(_PROPERTIES, 1))),
}
_BODY_PARAMETER: Final[dict[str, Member]] = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _flag),
    "schema": (5, partial(_one, _schema)),
}
_QUERY_PARAMETER: Final[dict[str, Member]] = {
    "required": (1, _flag),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "uniqueItems": (20, _flag),
}
_PATH_PARAMETER: Final[dict[str, Member]] = {
    "required": (1, _flag),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (5, _text),
    "uniqueItems": (19, _flag),
}
_PLACES: Final = {"query": (3, _QUERY_PARAMETER, 23), "path": (4, _PATH_PARAMETER, 22)}
_RESPONSE: Final[dict[str, Member]] = {
    "description": (1, _text),
    "schema": (2, partial(_one, lambda value: delimited(1, _schema(value)))),
}
_OPERATION: Final[dict[str, Member]] = {
    "tags": (1, _texts),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _texts),
    "consumes": (7, _texts),
    "parameters": (8, partial(_many, _parameter)),
    "responses": (9, partial(_one, partial(_named, _response, 1))),
}
_PATH_ITEM: Final[dict[str, Member]] = {
    "get": (2, partial(_one, _operation)),
    "put": (3, partial(_one, _operation)),
    "post": (4, partial(_one, _operation)),
    "delete": (5, partial(_one, _operation)),
    "patch": (8, partial(_one, _operation)),
    "parameters": (9, partial(_many, _parameter)),
}
_INFO: Final[dict[str, Member]] = {"title": (1, _text), "version": (2, _text)}
_DOCUMENT: Final[dict[str, Member]] = {
    "swagger": (1, _text),
    "info": (2, partial(_one, partial(_message, _INFO, 7))),
    "paths": (8, partial(_one, partial(_named, _path_item, 2))),
    "definitions": (9, partial(_one, partial(_PROPERTIES, 1))),
}
