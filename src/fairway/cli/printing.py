"""Objects as kubectl prints them: tables aligned its way, YAML and JSON in its order, names. Pure text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import yaml

from fairway.api.resources import Resource
from fairway.cli.catalog import qualified_name

Obj = dict[str, Any]
SMALLEST_COLUMN, GAP = 6, 3


def aligned(rows: Sequence[Sequence[str]], widths: list[int] | None = None) -> str:
    """Columns as wide as their widest cell. `widths` are remembered from call to call, for watches."""
    widths = [] if widths is None else widths
    for row in rows:
        widths += [0] * (len(row) - len(widths))
        for index, cell in enumerate(row):
            widths[index] = max(widths[index], SMALLEST_COLUMN, len(cell) + GAP)
    return "".join(
        "".join(cell.ljust(widths[index]) for index, cell in enumerate(row[:-1])) + row[-1] + "\n"
        for row in rows
    )


def table_rows(
    table: Obj,
    *,
    wide: bool,
    namespaces: bool,
    prefix: Resource | None = None,
    headers: bool = True,
    labels: bool = False,
) -> list[list[str]]:
    """The lines of a Table as the server sends it, each a list of cells."""
    columns = [
        (index, column["name"].upper())
        for index, column in enumerate(table.get("columnDefinitions") or ())
        if wide or not column.get("priority")
    ]
    head = (
        (["NAMESPACE"] if namespaces else []) + [name for _, name in columns] + (["LABELS"] if labels else [])
    )
    lines = [head] if headers else []
    for row in table.get("rows") or ():
        metadata = (row.get("object") or {}).get("metadata") or {}
        cells = [_cell(row["cells"][index]) for index, _ in columns]
        if prefix:
            cells[0] = qualified_name(prefix, cells[0])
        before = [metadata.get("namespace", "")] if namespaces else []
        lines.append(before + cells + ([_labels(metadata)] if labels else []))
    return lines


def _cell(value: object) -> str:
    """One line each: what a cell holds beyond its first line is not shown."""
    text = "<none>" if value is None else str(value)
    first, newline, _ = text.partition("\n")
    return f"{first}..." if newline else first


def _labels(metadata: Obj) -> str:
    labels = metadata.get("labels") or {}
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items())) or "<none>"


# ---- whole objects -------------------------------------------------------------------------------------


def shown(obj: Obj) -> Obj:
    """Without the bookkeeping of who manages which field, as kubectl shows objects."""
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k != "managedFields"}
    return {**obj, "metadata": metadata}


def as_list(objects: Sequence[Obj]) -> Obj:
    return {"apiVersion": "v1", "items": list(objects), "kind": "List", "metadata": {"resourceVersion": ""}}


def as_json(obj: Obj) -> str:
    text = json.dumps(obj, indent=4, sort_keys=True, ensure_ascii=False)
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def as_yaml(obj: Obj) -> str:
    text: str = yaml.dump(
        obj, Dumper=_Dumper, sort_keys=True, default_flow_style=False, width=1 << 30, allow_unicode=True
    )
    return text


class _Dumper(yaml.SafeDumper):
    """Double quotes around what would otherwise be read as something else than text; `|` for many lines."""


def _read_as(dumper: yaml.SafeDumper, text: str) -> str:
    """The type that a reader would take it for without quotes."""
    tag: str = dumper.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return tag


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text and not text.startswith((" ", "\n")) and " \n" not in text:
        style = "|"
    elif _read_as(dumper, text) not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:yaml"):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text_node)
_Dumper.ignore_aliases = lambda *_: True  # type: ignore[method-assign]
