"""mount(2) and umount(2), and what is mounted where.

Only the calls themselves and reading the mount table; which things are mounted for a Pod is decided by
the node agent. All calls are quick and blocking.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence
from pathlib import Path

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_BIND = 0x1000
MS_REC = 0x4000
MS_SHARED = 1 << 20
MNT_DETACH = 0x2

_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    result = _libc.mount(
        source.encode(), os.fsencode(target), kind.encode() or None, flags, options.encode() or None
    )
    _check(result, target)


def unmount(target: Path) -> None:
    """Take the topmost mount away even where it is in use; a target that is no mount is fine."""
    try:
        _check(_libc.umount2(os.fsencode(target), MNT_DETACH), target)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT):
            raise


def overlay(target: Path, *, lower: Sequence[Path], upper: Path, work: Path) -> None:
    layers = ":".join(_escaped(path) for path in lower)
    options = f"lowerdir={layers},upperdir={_escaped(upper)},workdir={_escaped(work)}"
    mount("overlay", target, "overlay", 0, options)


def bind(source: Path, target: Path) -> None:
    mount(os.fspath(source), target, "", MS_BIND)


def tmpfs(target: Path, options: str = "") -> None:
    mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, options)


def make_shared(target: Path) -> None:
    """Let mounts below `target` appear in every mount namespace, as `ip netns` expects of its folder."""
    try:
        mount("", target, "none", MS_SHARED | MS_REC)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        mount(os.fspath(target), target, "none", MS_BIND | MS_REC)
        mount("", target, "none", MS_SHARED | MS_REC)


def mounted_under(root: Path, table: str | None = None) -> list[Path]:
    """Mount points at or below `root`, the deepest first, so that they can be unmounted in that order."""
    text = Path("/proc/self/mountinfo").read_text() if table is None else table
    points = [Path(_unescaped(line.split(" ")[4])) for line in text.splitlines()]
    found = [point for point in points if point == root or root in point.parents]
    return sorted(found, key=lambda point: len(point.parts), reverse=True)


def _check(result: int, target: Path) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), os.fspath(target))


def _escaped(path: Path) -> str:
    """Overlay's option parser splits at colons and commas unless a backslash stands before them."""
    return os.fspath(path).replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def _unescaped(field: str) -> str:
    """mountinfo writes blanks, tabs, newlines and backslashes as three octal digits."""
    return field.encode().decode("unicode_escape").encode("latin-1").decode() if "\\" in field else field
