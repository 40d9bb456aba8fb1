"""Reading containers' logs: which lines someone wants, and following a file that grows.

Lines are in the CRI's format: `TIME STREAM TAG TEXT`, the tag `F` for a full line and `P` for a piece.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

_POLL_SECONDS = 0.1
_CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class LogOptions:
    """`since` is in the log's own notation of time, where the order of texts is the order of times."""

    follow: bool = False
    tail_lines: int | None = None
    since: str = ""
    timestamps: bool = False
    limit_bytes: int | None = None


def log_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"


class Rendering:
    """Log lines in, what the user sees out. A time stands before a line's first piece only."""

    def __init__(self, options: LogOptions) -> None:
        self._options = options
        self._left = options.limit_bytes
        self._in_line = False

    @property
    def exhausted(self) -> bool:
        return self._left is not None and self._left <= 0

    def render(self, lines: Iterable[bytes]) -> bytes:
        text = b"".join(filter(None, map(self._line, lines)))
        if self._left is not None:
            text = text[: self._left]
            self._left -= len(text)
        return text

    def _line(self, line: bytes) -> bytes | None:
        parts = line.split(b" ", 3)
        if len(parts) < 4 or parts[0].decode("latin-1") < self._options.since:
            return None
        time, _, tag, text = parts
        stamp = time + b" " if self._options.timestamps and not self._in_line else b""
        self._in_line = tag != b"F"
        return stamp + text + (b"" if self._in_line else b"\n")


def last_lines(lines: list[bytes], count: int) -> list[bytes]:
    """The last `count` full lines, with all pieces that belong to them."""
    if count <= 0:
        return []
    seen = 0
    for index in range(len(lines) - 1, -1, -1):
        starts_line = index == 0 or lines[index - 1].split(b" ", 3)[2:3] == [b"F"]
        seen += starts_line
        if seen == count:
            return lines[index:]
    return lines


async def read(folder: Path, options: LogOptions, ended: Callable[[], bool]) -> AsyncIterator[bytes]:
    """What is there, and with `follow` what comes, until the container has `ended`."""
    rendering = Rendering(options)
    lines = await asyncio.to_thread(_all_lines, folder)
    offset = (folder / "log").stat().st_size if (folder / "log").exists() else 0
    yield rendering.render(lines if options.tail_lines is None else last_lines(lines, options.tail_lines))
    rest = b""
    while options.follow and not rendering.exhausted:
        # Asked before reading: what is written before the end is then read after it.
        last = ended()
        data, offset = await asyncio.to_thread(_read_more, folder / "log", offset)
        *complete, rest = (rest + data).split(b"\n")
        if complete:
            yield rendering.render(complete)
        if last and not data:
            return
        if not data:
            await asyncio.sleep(_POLL_SECONDS)


def _all_lines(folder: Path) -> list[bytes]:
    """The older file first, where the log has been moved aside once."""
    lines: list[bytes] = []
    for name in ("log.1", "log"):
        try:
            lines += (folder / name).read_bytes().splitlines()
        except FileNotFoundError:
            continue
    return lines


def _read_more(path: Path, offset: int) -> tuple[bytes, int]:
    """New bytes; a file that has become shorter is a new one."""
    try:
        with path.open("rb") as file:
            if file.seek(0, 2) < offset:
                offset = 0
            file.seek(offset)
            data = file.read(_CHUNK)
    except FileNotFoundError:
        return b"", offset
    return data, offset + len(data)
