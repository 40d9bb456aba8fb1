"""Single values: each JSON value checked against a Go type and put into its stored spelling, or refused.

Structs, lists and maps, and which fields are kept, are in `conform`. A decoder gets null, too, which in Go
leaves the zero value.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from fairway.api.schema import quantity, timestamps

# Turns one value into its stored form; unknown field names met on the way are appended to the list.
Decoder = Callable[[Any, list[str]], Any]

INT_RANGES: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
ZEROES: Final[dict[str, Any]] = {
    "string": "",
    "int32": 0,
    "int64": 0,
    "double": 0,
    "bool": False,
    "intstr": 0,
    "quantity": "0",
}
_BASE64: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_JSON_KINDS: Final = {dict: "object", list: "array", str: "string", bool: "bool"}


class Undecodable(ValueError):
    """The object can't be read as that kind; the text is Go's."""


class Mismatch(Undecodable):
    """A value of the wrong type. Its place is filled in on the way out of the structs around it."""

    def __init__(self, value: Any, go: str, literal: bool = False, is_struct: bool = False) -> None:
        kind = _JSON_KINDS.get(type(value), "number")
        self.kind = f"number {value}" if literal and kind == "number" else kind
        self.is_float = literal and isinstance(value, float)
        self.is_struct = is_struct
        self.go = go
        self.struct = ""
        self.path: list[str] = []
        super().__init__()

    def within(self, struct: str, field: str) -> None:
        self.struct = self.struct or struct
        self.path.insert(0, field)

    def __str__(self) -> str:
        if not self.path:
            return f"json: cannot unmarshal {self.kind} into Go value of type {self.go}"
        place = ".".join((self.struct, *self.path))
        return f"json: cannot unmarshal {self.kind} into Go struct field {place} of type {self.go}"


def scalar_decoder(code: str, go: str) -> Decoder:
    if code in INT_RANGES:
        return partial(_int, *INT_RANGES[code], go)
    if code in ("string", "bool"):
        return partial(_scalar, {"string": str, "bool": bool}[code], ZEROES[code], go)
    return _SPECIAL[code]


def _scalar(expected: type, zero: Any, go: str, value: Any, unknown: list[str]) -> Any:
    if type(value) is expected:
        return value
    if value is None:
        return zero
    raise Mismatch(value, go)


def _int(lowest: int, highest: int, go: str, value: Any, unknown: list[str]) -> Any:
    if type(value) is int and lowest <= value <= highest:
        return value
    if value is None:
        return 0
    raise Mismatch(value, go, literal=True)


def _int_or_string(value: Any, unknown: list[str]) -> Any:
    if type(value) is str:
        return value
    return _int(*INT_RANGES["int32"], "int32", value, unknown)


def _double(value: Any, unknown: list[str]) -> Any:
    if type(value) is int or isinstance(value, float):
        return value
    if value is None:
        return 0
    raise Mismatch(value, "float64")


def _quantity(value: Any, unknown: list[str], spell: Callable[[str], str] = quantity.kept) -> Any:
    if value is None:
        return "0"
    text = value if type(value) is str else str(value)
    try:
        return spell(text)
    except quantity.BadQuantity as bad:
        raise Undecodable(str(bad)) from None


def amount(value: Any, unknown: list[str]) -> Any:
    """A quantity in a resource list."""
    return _quantity(value, unknown, quantity.canonical)


def _time(layout: str, value: Any, unknown: list[str]) -> Any:
    if value is None:
        return None
    if type(value) is not str:
        raise Mismatch(value, "string")
    try:
        spelled = timestamps.canonical(value, layout)
    except timestamps.BadTime as bad:
        raise Undecodable(str(bad)) from None
    return None if spelled.startswith("0001-01-01T00:00:00") else spelled  # Go's zero time


def _bytes(value: Any, unknown: list[str]) -> Any:
    if type(value) is not str:
        raise Mismatch(value, "[]uint8")
    text = value.replace("\r", "").replace("\n", "")
    try:
        if len(text) % 4 == 0:
            return base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except (binascii.Error, ValueError):
        pass
    raise Undecodable(f"illegal base64 data at input byte {_first_bad_byte(value)}")


def _first_bad_byte(text: str) -> int:
    """Where Go's decoder gives up on a text that is not base64."""
    group = at = 0
    while at < len(text):
        character = text[at]
        at += 1
        if character in _BASE64:
            group = (group + 1) % 4
        elif character != "=" or group < 2:
            return at - 1
        else:
            return _after_padding(text, at, group)
    return len(text) - group


def _after_padding(text: str, at: int, group: int) -> int:
    """The same, from behind the first `=`: a second one must follow two characters, and then nothing."""
    if group == 2:
        if at == len(text):
            return at
        if text[at] != "=":
            return at - 1
        at += 1
    return at


def _raw(value: Any, unknown: list[str]) -> Any:
    return value


_SPECIAL: Final[dict[str, Decoder]] = {
    "intstr": _int_or_string,
    "double": _double,
    "quantity": _quantity,
    "time": partial(_time, timestamps.SECONDS),
    "microtime": partial(_time, timestamps.MICROSECONDS),
    "bytes": _bytes,
    "raw": _raw,
}
