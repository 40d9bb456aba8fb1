"""Images on disk, by digest: one unpacked root folder and one configuration each; and names for them.

    sha256/HEX/config.json   the image's own configuration; HEX is its digest
    sha256/HEX/rootfs/       all layers, merged; the shared lower layer of every container's root
    names/NAME               a file that holds the digest

Several processes may use one store: everything appears by rename. Calls block; run them in a thread.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO
from urllib.parse import quote, unquote

import msgspec

from fairway.images import untar
from fairway.images.model import Image, ImageConfig
from fairway.images.reference import Reference, parse


class ImageError(Exception):
    """An image can't be had or is not what it says it is; the message tells the user what to do."""


class _RootFs(msgspec.Struct, frozen=True):
    diff_ids: list[str] = []


class _ConfigFile(msgspec.Struct, frozen=True):
    config: ImageConfig | None = None
    rootfs: _RootFs = _RootFs()


Layer = Callable[[], AbstractContextManager[IO[bytes]]]


class ImageStore:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._images = folder / "sha256"
        self._names = folder / "names"

    def find(self, reference: Reference) -> Image | None:
        """By digest where the name has one, else by name and tag."""
        if reference.digest:
            return self._image(reference.digest)
        try:
            return self._image(self._name_file(reference).read_text().strip())
        except FileNotFoundError:
            return None

    def names(self) -> Iterator[tuple[str, str]]:
        """Every name and the digest it stands for."""
        if self._names.is_dir():
            for file in sorted(self._names.iterdir()):
                if not file.name.startswith("."):
                    yield unquote(file.name), file.read_text().strip()

    def digests(self) -> list[str]:
        """Of all images, with names or without."""
        return [f"sha256:{entry.name}" for entry in self._images.iterdir()] if self._images.is_dir() else []

    def forget(self, reference: Reference) -> bool:
        """Take a name away; the image itself stays until nobody uses it. False if there is no such name."""
        try:
            self._name_file(reference).unlink()
        except FileNotFoundError:
            return False
        return True

    def remove(self, digest: str) -> None:
        """It disappears in one step, and its files after that."""
        leaving = Path(tempfile.mkdtemp(prefix=".leaving-", dir=self.folder))
        try:
            (self._images / digest.removeprefix("sha256:")).rename(leaving / "image")
        except FileNotFoundError:
            pass
        finally:
            shutil.rmtree(leaving, ignore_errors=True)

    def add(self, config: bytes, layers: Iterable[Layer], names: Iterable[str]) -> Image:
        """Unpack `layers`, each an uncompressed tar that must have the digest the configuration gives."""
        digest = "sha256:" + hashlib.sha256(config).hexdigest()
        image = self._image(digest) or self._unpacked(digest, config, list(layers))
        for name in names:
            self._write_name(parse(name), digest)
        return image

    def _image(self, digest: str) -> Image | None:
        folder = self._images / digest.removeprefix("sha256:")
        try:
            file = msgspec.json.decode((folder / "config.json").read_bytes(), type=_ConfigFile)
        except FileNotFoundError:
            return None
        return Image(digest, folder / "rootfs", file.config or ImageConfig())

    def _unpacked(self, digest: str, config: bytes, layers: list[Layer]) -> Image:
        expected = _diff_ids(config)
        if len(expected) != len(layers):
            raise ImageError(f"image {digest} lists {len(expected)} layers but has {len(layers)}")
        self._images.mkdir(parents=True, exist_ok=True)
        incoming = Path(tempfile.mkdtemp(prefix=".incoming-", dir=self.folder))
        try:
            rootfs = incoming / "rootfs"
            rootfs.mkdir(mode=0o755)
            rootfs.chmod(0o755)
            for layer, diff_id in zip(layers, expected, strict=True):
                _unpack_verified(layer, diff_id, rootfs)
            (incoming / "config.json").write_bytes(config)
            incoming.chmod(0o755)
            self._publish(incoming, digest)
        finally:
            shutil.rmtree(incoming, ignore_errors=True)
        image = self._image(digest)
        assert image is not None
        return image

    def _publish(self, incoming: Path, digest: str) -> None:
        try:
            incoming.rename(self._images / digest.removeprefix("sha256:"))
        except OSError:
            if self._image(digest) is None:
                raise

    def _name_file(self, reference: Reference) -> Path:
        return self._names / quote(str(reference), safe=":@")

    def _write_name(self, reference: Reference, digest: str) -> None:
        self._names.mkdir(parents=True, exist_ok=True)
        target = self._name_file(reference)
        descriptor, new = tempfile.mkstemp(prefix=".", dir=self._names)
        with os.fdopen(descriptor, "w") as file:
            file.write(digest)
        Path(new).rename(target)


def _diff_ids(config: bytes) -> list[str]:
    try:
        return msgspec.json.decode(config, type=_ConfigFile).rootfs.diff_ids
    except msgspec.MsgspecError as error:
        raise ImageError(f"the image's configuration can't be read: {error}") from error


def _unpack_verified(layer: Layer, diff_id: str, rootfs: Path) -> None:
    with layer() as stream:
        hashed = _HashingReader(stream)
        try:
            untar.unpack(hashed, rootfs)
        except untar.UnsafeLayer as error:
            raise ImageError(str(error)) from error
        hashed.drain()
    if hashed.digest() != diff_id:
        raise ImageError(f"a layer has digest {hashed.digest()} where the image says {diff_id}")


class _HashingReader:
    """Passes reads on and hashes what went through."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self._hash.update(data)
        return data

    def drain(self) -> None:
        while self.read(1024 * 1024):
            pass

    def digest(self) -> str:
        return "sha256:" + self._hash.hexdigest()
