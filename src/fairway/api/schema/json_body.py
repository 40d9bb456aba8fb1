"""JSON documents: bytes to values as Go reads them, fast; and slower, with more remembered, where wanted.

What the values mean is not looked at here.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from fairway.api.schema import syntax
from fairway.api.schema.strict import Members

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class BadJson(ValueError):
    """The document is no JSON; the message is Go's."""


class Literal(float):
    """A number that remembers how it was written, for messages."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Literal:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text


def decode_json(body: bytes) -> Any:
    """The document; of members given twice the last counts. Raises BadJson."""
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_leniently(body)


def _decode_leniently(body: bytes) -> Any:
    """What Go accepts and strict parsers don't; what it doesn't accept either, it gives the reason for."""
    try:
        if fault := syntax.explain(body):
            raise BadJson(fault)
        return syntax.lenient(body)
    except RecursionError:
        raise BadJson("exceeded max depth") from None


def has_repeated_members(body: bytes, decoded: Any) -> bool:
    """Whether the document gives a member twice. Exact but for documents with escaped quotes by number, where
    it may say yes in vain: a repeated member's quotes are in the body and not in what it was decoded to."""
    return body.count(b'"') != _encode(decoded).count(b'"') or b"\\u0022" in body


def decode_members(body: bytes) -> Any:
    """The document, with objects that know which members were given twice."""
    return json.loads(body.decode("utf-8", "replace"), object_pairs_hook=Members, parse_int=syntax.integer)


def decode_literally(body: bytes) -> Any:
    """The document, with fractional numbers that know how they were written."""
    return json.loads(body.decode("utf-8", "replace"), parse_float=Literal, parse_int=syntax.integer)
