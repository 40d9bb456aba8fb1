"""Control groups: what they tell of their processes, and removing the folders that runtimes leave behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def remove(path: str, root: Path = ROOT) -> list[Path]:
    """Remove a group with all groups below it; returns those that are still in use and so stay."""
    left = []
    for folder in _folders(path, root):
        for below, _, _ in os.walk(folder, topdown=False):
            if not _removed(Path(below)):
                left.append(Path(below))
    return left


def ran_out_of_memory(path: str, root: Path = ROOT) -> bool:
    """Whether the kernel has killed a process of the group for want of memory."""
    files = [root / "memory" / path.strip("/") / "memory.oom_control"]
    files += [folder / path.strip("/") / "memory.events" for folder in (root, root / "unified")]
    for file in files:
        try:
            counts = dict(line.split() for line in file.read_text().splitlines())
        except (OSError, ValueError):
            continue
        return int(counts.get("oom_kill", "0")) > 0
    return False


def remove_if_empty(path: str, root: Path = ROOT) -> None:
    """Remove a group that may have other owners below it, if it has none."""
    for folder in _folders(path, root):
        _removed(folder)


def _folders(path: str, root: Path) -> Iterator[Path]:
    """With version 1 (and hybrids) every controller has a tree of its own below the root."""
    relative = path.strip("/")
    if not relative:
        raise ValueError("the root group belongs to the machine")
    yield root / relative
    for tree in root.iterdir():
        if tree.is_dir() and not tree.is_symlink():
            yield tree / relative


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
