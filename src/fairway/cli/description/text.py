"""Text with tabs, aligned as kubectl aligns it, and the pieces that descriptions of all kinds share.

A column is as wide as its widest cell among lines that follow one another and have it (elastic tab stops).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from fairway.api.tables.durations import since

Obj = dict[str, Any]
GAP = 2
NONE = "<none>"


def aligned(text: str) -> str:
    lines = [line.split("\t") for line in text.split("\n")]
    widths: list[list[int]] = [[] for _ in lines]
    _measure(lines, widths, 0, len(lines), 0)
    return "\n".join(
        "".join(cell.ljust(width) for cell, width in zip(cells, mine, strict=False)) + cells[-1]
        for cells, mine in zip(lines, widths, strict=True)
    )


def _measure(lines: list[list[str]], widths: list[list[int]], start: int, end: int, column: int) -> None:
    """Only cells that a tab ends belong to a column; a line without one ends it."""
    line = start
    while line < end:
        if len(lines[line]) <= column + 1:
            line += 1
            continue
        first = line
        while line < end and len(lines[line]) > column + 1:
            line += 1
        width = max(len(lines[number][column]) for number in range(first, line)) + GAP
        for number in range(first, line):
            widths[number].append(width)
        _measure(lines, widths, first, line, column + 1)


class Writer:
    """Lines with tabs, indented by level."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def line(self, level: int, text: str) -> None:
        self._lines.append("  " * level + text)

    def field(self, name: str, value: object, level: int = 0) -> None:
        self.line(level, f"{name}:\t{value}")

    def text(self) -> str:
        return aligned("\n".join(self._lines) + "\n")


def moment(text: str | None) -> str:
    """A time as RFC 1123 writes it."""
    if not text:
        return "<unset>"
    found = datetime.fromisoformat(text).astimezone(UTC)
    return found.strftime("%a, %d %b %Y %H:%M:%S +0000")


def age(text: str | None, now: datetime) -> str:
    return since(datetime.fromisoformat(text) if text else None, now)


def pairs(mapping: Mapping[str, Any] | None, joint: str = "=") -> list[str]:
    return [f"{name}{joint}{value}" for name, value in sorted((mapping or {}).items())]


def listed(writer: Writer, name: str, values: Sequence[str], level: int = 0) -> None:
    """One value a line, each below the first."""
    writer.field(name, values[0] if values else NONE, level)
    for value in values[1:]:
        writer.line(level, f"\t{value}")


LONGEST_VALUE = 140


def write_annotations(writer: Writer, obj: Obj, level: int = 0) -> None:
    """Long ones stand on a line of their own, cut off."""
    hidden = "kubectl.kubernetes.io/last-applied-configuration"
    found = sorted((k, v) for k, v in (obj["metadata"].get("annotations") or {}).items() if k != hidden)
    if not found:
        writer.field("Annotations", NONE, level)
    for index, (name, value) in enumerate(found):
        before = "Annotations:\t" if index == 0 else "\t"
        if len(value) + len(name) + 2 < LONGEST_VALUE and "\n" not in value:
            writer.line(level, f"{before}{name}: {value}")
        else:
            shown = value.strip().replace("\n", " ")
            writer.line(level, f"{before}{name}:")
            cut = f"{shown[: LONGEST_VALUE - 2]}..." if len(shown) > LONGEST_VALUE - 2 else shown
            writer.line(level, f"\t  {cut}")


def head(writer: Writer, obj: Obj) -> None:
    metadata = obj["metadata"]
    writer.field("Name", metadata["name"])
    if metadata.get("namespace"):
        writer.field("Namespace", metadata["namespace"])


def events(writer: Writer, found: Iterable[Obj], now: datetime) -> None:
    happened = sorted(found, key=_last)
    if not happened:
        writer.field("Events", NONE)
        return
    writer.line(0, "Events:")
    writer.line(1, "Type\tReason\tAge\tFrom\tMessage")
    writer.line(1, "----\t------\t----\t----\t-------")
    for event in happened:
        source = (event.get("source") or {}).get("component") or event.get("reportingComponent", "")
        writer.line(
            1,
            f"{event.get('type', '')}\t{event.get('reason', '')}\t{_event_age(event, now)}\t"
            f"{source}\t{event.get('message', '').strip()}",
        )


def _last(event: Obj) -> str:
    series = event.get("series") or {}
    return str(series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or "")


def _event_age(event: Obj, now: datetime) -> str:
    first = event.get("firstTimestamp") or event.get("eventTime")
    count = (event.get("series") or {}).get("count") or event.get("count") or 1
    if count > 1:
        return f"{age(_last(event), now)} (x{count} over {age(first, now)})"
    return age(_last(event) or first, now)
