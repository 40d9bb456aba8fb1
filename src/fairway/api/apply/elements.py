"""Path elements: how one step from an object to a field is written in a set, and how people read it.

`k:{"port":80,"protocol":"TCP"}` in a set is `[port=80,protocol="TCP"]` in a message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from fairway.api.apply.fieldset import MEMBER, SELF, FieldSet
from fairway.api.validation.quoting import JSON_ESCAPES

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode


class BadElement(ValueError):
    """The text is no path element."""


def key_element(keys: dict[str, Any]) -> str:
    """A list item by the fields that tell it from others."""
    return "k:" + _json(keys)


def value_element(value: Any) -> str:
    """An item of a list that is a set."""
    return "v:" + _json(value)


def _json(value: Any) -> str:
    text = _encode(value).decode()
    return text.translate(JSON_ESCAPES) if "&" in text or "<" in text or ">" in text else text


def path_text(path: Iterable[str]) -> str:
    """`.spec.ports[port=53,protocol="TCP"].name`."""
    return "".join(map(element_text, path))


def element_text(element: str) -> str:
    kind, content = element[:2], element[2:]
    if kind == "f:":
        return f".{content}"
    if kind == "k:":
        return f"[{','.join(f'{name}={_json(value)}' for name, value in sorted(_decode(content).items()))}]"
    return f"[={content}]" if kind == "v:" else f"[{content}]"


def canonical_set(node: Any) -> FieldSet:
    """A set that a client sent, its elements spelled as ours are; kinds of elements not known yet go.

    Raises BadElement where it is none.
    """
    if not isinstance(node, dict):
        raise BadElement("a set of fields is an object")
    result: FieldSet = {}
    for name, child in node.items():
        element = SELF if name == SELF else _canonical(name)
        if element is None:
            continue
        result[element] = MEMBER if element == SELF else canonical_set(child)
    return result


def _canonical(element: str) -> str | None:
    if len(element) < 2:
        raise BadElement("key must be 2 characters long:")
    if element[1] != ":":
        raise BadElement(f"missing colon: {element}")
    kind, content = element[0], element[2:]
    try:
        if kind == "k":
            return key_element(msgspec.json.decode(content, type=dict[str, Any]))
        if kind == "v":
            return value_element(_decode(content))
        if kind == "i":
            return f"i:{int(content)}"
    except (msgspec.DecodeError, ValueError) as error:
        raise BadElement(str(error)) from error
    return element if kind == "f" else None
