"""Any object, described by its fields: names split into words, values as they are."""

from __future__ import annotations

import re
from typing import Any

from fairway.cli.description.text import Obj, Writer, head, listed, pairs, write_annotations

HIDDEN = {"annotations", "labels", "name", "namespace", "managedFields"}
ABBREVIATIONS = {"Api": "API", "Uid": "UID", "Ip": "IP", "Cidr": "CIDR", "Url": "URL", "Tls": "TLS"}


def describe(writer: Writer, obj: Obj) -> None:
    head(writer, obj)
    listed(writer, "Labels", pairs(obj["metadata"].get("labels")))
    write_annotations(writer, obj)
    shown = {
        **obj,
        "metadata": {key: value for key, value in obj["metadata"].items() if key not in HIDDEN},
    }
    _fields(writer, shown, 0)


def label(name: str) -> str:
    """`creationTimestamp` is `Creation Timestamp`."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[^A-Za-z0-9]+", name)
    capital = [word[:1].upper() + word[1:] for word in words]
    return " ".join(ABBREVIATIONS.get(word, word) for word in capital)


def _fields(writer: Writer, obj: dict[str, Any], level: int) -> None:
    for name in sorted(obj, key=label):
        value = obj[name]
        if isinstance(value, dict):
            writer.line(level, f"{label(name)}:")
            _fields(writer, value, level + 1)
        elif isinstance(value, list):
            writer.line(level, f"{label(name)}:")
            _items(writer, value, level + 1)
        else:
            writer.field(label(name), _scalar(value), level)


def _items(writer: Writer, items: list[Any], level: int) -> None:
    for item in items:
        if isinstance(item, dict):
            _fields(writer, item, level)
        else:
            writer.line(level, _scalar(item))


def _scalar(value: object) -> str:
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)
