"""The last state of the cluster on disk: what a server says that starts without an API server.

One line an object; written beside the old file and moved over it, so there is always a whole one. When to
write and when to use it is decided in `cluster`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import structlog

log = structlog.get_logger()
_VERSION = "fairway-dns-snapshot 1"

Objects = Mapping[str, Mapping[str, Any]]
"""Objects by kind and key."""


def write(path: Path, objects: Objects, written: float) -> None:
    """Meant for a thread: each object is encoded by itself, so that others get their turn in between."""
    encode = msgspec.json.encode
    beside = path.with_name(path.name + ".new")
    try:
        with beside.open("wb") as file:
            file.write(f"{_VERSION} {written:.0f}\n".encode())
            for kind, items in objects.items():
                for key, obj in items.items():
                    file.write(f"{kind}\t{key}\t".encode() + encode(obj) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        log.warning("snapshot not written", path=str(path), error=str(error))


def read(path: Path, types: Mapping[str, type[Any]]) -> tuple[dict[str, dict[str, Any]], float] | None:
    """The objects and when they were written; None if there is no snapshot that can be read in full."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return None
    head, _, written = (lines[0] if lines else b"").rpartition(b" ")
    if head != _VERSION.encode() or not written.isdigit():
        return None
    found: dict[str, dict[str, Any]] = {kind: {} for kind in types}
    try:
        for kind, key, obj in _rows(lines[1:]):
            found[kind][key] = msgspec.json.decode(obj, type=types[kind])
    except (ValueError, KeyError, msgspec.MsgspecError) as error:
        log.warning("snapshot not read", path=str(path), error=str(error))
        return None
    return found, float(written)


def _rows(lines: Iterable[bytes]) -> Iterable[tuple[str, str, bytes]]:
    for line in lines:
        kind, key, obj = line.split(b"\t", 2)
        yield kind.decode(), key.decode(), obj


def prepare(folder: Path) -> None:
    """Makes the folder, readable for its owner alone."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True, mode=0o700)
