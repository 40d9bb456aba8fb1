"""Unpacking one image layer below a folder, whatever its paths and links try.

Every path is resolved by the kernel as if the folder were the root (`openat2` with RESOLVE_IN_ROOT), so
neither `..` nor a symbolic link that an earlier layer planted leads outside. Whiteouts delete.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import tarfile
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_OPENAT2 = 437
_RESOLVE_IN_ROOT = 0x10
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW

_libc = ctypes.CDLL(None, use_errno=True)


class UnsafeLayer(ValueError):
    """The layer holds something that can't be unpacked."""


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_in_root(root: int, path: str, flags: int) -> int:
    """Open `path` as a process whose root directory is `root` would.

    The path is made relative all the same, so that it could not mean the host's even to a kernel that
    did not do what it is told.
    """
    how = _OpenHow(flags | os.O_CLOEXEC, 0, _RESOLVE_IN_ROOT)
    relative = path.lstrip("/").encode() or b"."
    result = _libc.syscall(_OPENAT2, root, relative, ctypes.byref(how), ctypes.sizeof(how))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
    return int(result)


def read_in_root(root: Path, path: str) -> bytes:
    """A file of the unpacked image; never one of the host's, wherever links in the image point."""
    folder = os.open(root, os.O_PATH | os.O_DIRECTORY)
    try:
        with os.fdopen(open_in_root(folder, path, os.O_RDONLY), "rb") as file:
            return file.read()
    finally:
        os.close(folder)


def unpack(layer: Readable, target: Path) -> None:
    source: Any = layer
    root = os.open(target, os.O_PATH | os.O_DIRECTORY)
    try:
        with tarfile.open(fileobj=source, mode="r|") as archive:
            _Unpacking(root).all(archive)
    except tarfile.TarError as error:
        raise UnsafeLayer(f"the layer is no readable tar archive: {error}") from error
    finally:
        os.close(root)


class _Unpacking:
    def __init__(self, root: int) -> None:
        self._root = root

    def all(self, archive: tarfile.TarFile) -> None:
        fresh: set[str] = set()
        for member in archive:
            path = PurePosixPath("/", member.name)
            if ".." in path.parts:
                raise UnsafeLayer(f"the layer's path {member.name!r} leads upwards")
            if path == PurePosixPath("/"):
                continue
            self._one(archive, member, path, fresh)

    def _one(
        self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: PurePosixPath, fresh: set[str]
    ) -> None:
        parent = self._folder(path.parent)
        try:
            if path.name == _OPAQUE:
                self._empty(parent, path.parent, fresh)
            elif path.name.startswith(_WHITEOUT):
                _remove(parent, path.name.removeprefix(_WHITEOUT))
            else:
                self._make(archive, member, parent, path.name)
                fresh.add(str(path))
        finally:
            os.close(parent)

    def _folder(self, path: PurePosixPath) -> int:
        """The folder, made with its parents where a sloppy archive doesn't list them."""
        try:
            return open_in_root(self._root, str(path), os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            parent = self._folder(path.parent)
        try:
            os.mkdir(path.name, 0o755, dir_fd=parent)
        finally:
            os.close(parent)
        return open_in_root(self._root, str(path), os.O_RDONLY | os.O_DIRECTORY)

    def _empty(self, folder: int, path: PurePosixPath, fresh: set[str]) -> None:
        """An opaque folder hides what lower layers put there, not what this layer does."""
        for name in os.listdir(folder):
            if str(path / name) not in fresh:
                _remove(folder, name)

    def _make(self, archive: tarfile.TarFile, member: tarfile.TarInfo, parent: int, name: str) -> None:
        if member.isdir():
            _make_folder(parent, name)
        else:
            _remove(parent, name)
            if member.isreg():
                _make_file(archive, member, parent, name)
            elif member.issym():
                os.symlink(member.linkname, name, dir_fd=parent)
            elif member.islnk():
                self._link(member, parent, name)
                return
            elif member.isfifo():
                os.mkfifo(name, member.mode, dir_fd=parent)
            elif member.isdev():
                kind = stat.S_IFCHR if member.ischr() else stat.S_IFBLK
                device = os.makedev(member.devmajor, member.devminor)
                os.mknod(name, member.mode | kind, device, dir_fd=parent)
            else:
                raise UnsafeLayer(f"the layer's {member.name!r} is of an unknown type")
        _own(member, parent, name)

    def _link(self, member: tarfile.TarInfo, parent: int, name: str) -> None:
        target = PurePosixPath("/", member.linkname)
        if ".." in target.parts:
            raise UnsafeLayer(f"the layer's link {member.linkname!r} leads upwards")
        folder = self._folder(target.parent)
        try:
            os.link(target.name, name, src_dir_fd=folder, dst_dir_fd=parent, follow_symlinks=False)
        finally:
            os.close(folder)


def _make_folder(parent: int, name: str) -> None:
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            return
        _remove(parent, name)
    except FileNotFoundError:
        pass
    os.mkdir(name, dir_fd=parent)


def _make_file(archive: tarfile.TarFile, member: tarfile.TarInfo, parent: int, name: str) -> None:
    source = archive.extractfile(member)
    assert source is not None
    with os.fdopen(os.open(name, _NEW_FILE, 0o600, dir_fd=parent), "wb") as file:
        shutil.copyfileobj(source, file, 1024 * 1024)


def _own(member: tarfile.TarInfo, parent: int, name: str) -> None:
    """Owner first: chown clears set-uid bits. Only root can give files away."""
    if os.geteuid() == 0:
        os.chown(name, member.uid, member.gid, dir_fd=parent, follow_symlinks=False)
    if not member.issym():
        os.chmod(name, member.mode & 0o7777, dir_fd=parent)
    os.utime(name, (member.mtime, member.mtime), dir_fd=parent, follow_symlinks=False)


def _remove(parent: int, name: str) -> None:
    if name in ("", ".", ".."):
        raise UnsafeLayer(f"the layer removes {name!r}")
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=parent)
        else:
            os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        pass
