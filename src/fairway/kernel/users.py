"""Users with fewer rights, for programs that need none."""

from __future__ import annotations

import contextlib
import os
import pwd
from pathlib import Path


def lesser_user(*names: str) -> pwd.struct_passwd | None:
    """The first of these that we can become; nobody if we aren't root, or root only of our own namespace."""
    if os.geteuid() != 0:
        return None
    for name in names:
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            if _exists_here("uid", user.pw_uid) and _exists_here("gid", user.pw_gid):
                return user
    return None


def _exists_here(kind: str, number: int) -> bool:
    """A user namespace knows only the numbers that were mapped into it."""
    ranges = (map(int, line.split()) for line in Path(f"/proc/self/{kind}_map").read_text().splitlines())
    return any(first <= number < first + count for first, _, count in ranges)
