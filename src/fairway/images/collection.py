"""Which images are in use, and taking away those nobody needs.

An image stays while it has a name, or while a container made of it runs. Names never go on their own: no
registry could bring back what was loaded by hand. A container holds its image by a file that says where the
container's folder is; folders are removed when containers are, so a crash leaves no image held for ever.

    users/HEX/OWNER   the folder of a run of a container
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairway.images.model import Image
from fairway.images.store import ImageError, ImageStore


class Gone(ImageError):
    """The image was taken away a moment ago."""


def hold(store: ImageStore, image: Image, owner: str, run_folder: Path) -> None:
    """Keep the image for as long as `run_folder` exists and has no `exit.json`."""
    with _locked(store, fcntl.LOCK_SH):
        if not image.rootfs.is_dir():
            raise Gone(f"image {image.digest} is no longer in the store")
        folder = _users(store, image.digest)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / owner).write_text(os.fspath(run_folder))


def collect(store: ImageStore) -> list[str]:
    """Remove images that have neither name nor user; returns their digests."""
    with _locked(store, fcntl.LOCK_EX):
        named = {digest for _, digest in store.names()}
        unused = [digest for digest in store.digests() if digest not in named and not in_use(store, digest)]
        for digest in unused:
            store.remove(digest)
            shutil.rmtree(_users(store, digest), ignore_errors=True)
    return unused


def in_use(store: ImageStore, digest: str) -> bool:
    """Whether a container made of it is there; what is left of others is cleared away."""
    folder = _users(store, digest)
    held = False
    for file in folder.iterdir() if folder.is_dir() else ():
        run_folder = Path(file.read_text())
        if run_folder.is_dir() and not (run_folder / "exit.json").exists():
            held = True
        else:
            file.unlink(missing_ok=True)
    return held


def _users(store: ImageStore, digest: str) -> Path:
    return store.folder / "users" / digest.removeprefix("sha256:")


@contextmanager
def _locked(store: ImageStore, how: int) -> Iterator[None]:
    """Several agents may share a store; the lock goes with whoever holds it."""
    store.folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(store.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)
