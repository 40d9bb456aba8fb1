"""Named network namespaces, kept where `ip netns` keeps them, and running code inside one.

A namespace belongs to a thread in Linux. So work inside another one happens in a thread made for it
(`run_inside`), and only a process that means to stay there for good, such as a forked child, calls `enter`.
Everything here is idempotent: making what exists and deleting what doesn't are both fine.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fairway.kernel import mounts

T = TypeVar("T")

FOLDER = Path("/var/run/netns")
CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


def path_of(name: str) -> Path:
    return FOLDER / name


def exists(name: str) -> bool:
    """A file without a namespace mounted on it is what a crash or a reboot leaves: that doesn't count."""
    try:
        return path_of(name).stat().st_dev != FOLDER.stat().st_dev
    except FileNotFoundError:
        return False


def names(prefix: str = "") -> list[str]:
    if not FOLDER.is_dir():
        return []
    return sorted(entry.name for entry in FOLDER.iterdir() if entry.name.startswith(prefix))


def create(name: str) -> Path:
    path = path_of(name)
    if not exists(name):
        _prepare_folder()
        path.touch(mode=0o444)
        _in_thread(lambda: _unshare_onto(path))
    return path


def delete(name: str) -> None:
    """The namespace itself goes once its last process has."""
    path = path_of(name)
    if path.exists():
        mounts.unmount(path)
        path.unlink(missing_ok=True)


def delete_prefix(prefix: str) -> list[str]:
    """Delete every namespace whose name starts so; returns their names."""
    if not prefix:
        raise ValueError("an empty prefix would delete the namespaces of others")
    gone = names(prefix)
    for name in gone:
        delete(name)
    return gone


def enter(name: str) -> None:
    """Move the calling thread into a namespace for good. Call it first thing after a fork."""
    enter_path(path_of(name))


def enter_path(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc.setns(descriptor, CLONE_NEWNET), path)
    finally:
        os.close(descriptor)


def run_inside(path: Path, work: Callable[[], T]) -> T:
    """Call `work` in the namespace at `path` (a named one, or /proc/PID/ns/net) and return its result.

    Sockets that `work` opens stay in that namespace wherever they are used later.
    """

    def entered() -> T:
        enter_path(path)
        return work()

    return _in_thread(entered)


def _in_thread(work: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=body, name="netns")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _prepare_folder() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    mounts.make_shared(FOLDER)


def _unshare_onto(path: Path) -> None:
    _check(_libc.unshare(CLONE_NEWNET), path)
    mounts.bind(Path(f"/proc/self/task/{threading.get_native_id()}/ns/net"), path)


def _check(result: int, path: Path) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), os.fspath(path))
