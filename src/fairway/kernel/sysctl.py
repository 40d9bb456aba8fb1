"""Kernel settings under /proc/sys, of the network namespace that the calling thread is in."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path("/proc/sys")


def _path(name: str) -> Path:
    """`net/ipv4/conf/eth0.5/forwarding`: parts are separated by slashes, as device names may hold dots."""
    return _ROOT / name


def read(name: str) -> str:
    return _path(name).read_text().strip()


def write(name: str, value: str) -> str:
    """Set it unless it is already so; returns what it was before."""
    before = read(name)
    if before != value:
        _path(name).write_text(value)
    return before


def write_own(name: str, value: str) -> None:
    """A setting of this process itself, such as `oom_score_adj`."""
    (Path("/proc/self") / name).write_text(value)
