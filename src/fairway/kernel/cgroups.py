"""Control groups: removing the folders that container runtimes leave behind."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def remove(path: str, root: Path = ROOT) -> list[Path]:
    """Remove a group with all groups below it; returns those that are still in use and so stay.

    With version 1 (and hybrids) every controller has a tree of its own below the root.
    """
    relative, left = path.strip("/"), []
    if not relative:
        raise ValueError("the root group belongs to the machine")
    for tree in (root, *(entry for entry in root.iterdir() if entry.is_dir() and not entry.is_symlink())):
        for folder, _, _ in os.walk(tree / relative, topdown=False):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:
                left.append(Path(folder))
    return left
