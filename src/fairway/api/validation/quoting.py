"""How values are written inside error messages: strings as Go quotes them, the rest as Go's JSON.

Objects are written in the order of their keys in the dictionary; whoever reports one brings its keys into the
order in which Kubernetes declares them.
"""

from __future__ import annotations

import json
from typing import Any, Final

ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
# Go's JSON is safe to embed in HTML and in JavaScript.
JSON_ESCAPES: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def render_value(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else render_json(value)


def render_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).translate(JSON_ESCAPES)


def quoted(text: str) -> str:
    """The text in double quotes, with everything unprintable escaped."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in ESCAPES:
        return ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
