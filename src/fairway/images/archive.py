"""Reading image archives, as `docker save`, `skopeo copy` and `podman save` write them.

Two formats: docker-archive (`manifest.json`) and OCI (`index.json`, `blobs/sha256/…`); some files are both.
Every digest that an archive names is checked. Blocking: run it in a thread.
"""

from __future__ import annotations

import gzip
import hashlib
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import msgspec

from fairway.images.model import Image
from fairway.images.store import ImageError, ImageStore, Layer

_NAME_ANNOTATION = "io.containerd.image.name"


class _DockerManifest(msgspec.Struct, frozen=True, rename="pascal"):
    config: str
    layers: list[str] = []
    repo_tags: list[str] | None = None


class _Descriptor(msgspec.Struct, frozen=True, rename="camel"):
    digest: str
    media_type: str = ""
    annotations: dict[str, str] | None = None


class _OciIndex(msgspec.Struct, frozen=True):
    manifests: list[_Descriptor] = []


class _OciManifest(msgspec.Struct, frozen=True):
    config: _Descriptor
    layers: list[_Descriptor] = []


def load(store: ImageStore, file: Path, names: tuple[str, ...] = ()) -> list[tuple[Image, tuple[str, ...]]]:
    """Enter every image of an archive; `names` are added to those the archive itself gives."""
    try:
        with tarfile.open(file, "r:*") as tar:
            archive = _Archive(tar)
            if archive.has("manifest.json"):
                return _load_docker(store, archive, names)
            if archive.has("index.json"):
                return _load_oci(store, archive, names)
    except tarfile.ReadError as error:
        raise ImageError(f"{file} is no image archive: it can't be read as a tar file") from error
    except (tarfile.TarError, OSError, msgspec.MsgspecError) as error:
        raise ImageError(f"{file} can't be read as an image archive: {error}") from error
    raise ImageError(f"{file} is neither a docker-archive nor an OCI archive")


def _load_docker(
    store: ImageStore, archive: _Archive, names: tuple[str, ...]
) -> list[tuple[Image, tuple[str, ...]]]:
    loaded = []
    for manifest in msgspec.json.decode(archive.read("manifest.json"), type=list[_DockerManifest]):
        config = archive.read(manifest.config)
        _check_named_digest(PurePosixPath(manifest.config).stem, config)
        layers = [archive.layer(path) for path in manifest.layers]
        all_names = (*(manifest.repo_tags or ()), *names)
        loaded.append((store.add(config, layers, all_names), all_names))
    return loaded


def _load_oci(
    store: ImageStore, archive: _Archive, names: tuple[str, ...]
) -> list[tuple[Image, tuple[str, ...]]]:
    loaded = []
    for descriptor in msgspec.json.decode(archive.read("index.json"), type=_OciIndex).manifests:
        manifest = msgspec.json.decode(archive.blob(descriptor.digest), type=_OciManifest)
        layers = [archive.verified_layer(layer.digest) for layer in manifest.layers]
        own = (descriptor.annotations or {}).get(_NAME_ANNOTATION)
        all_names = ((own,) if own else ()) + names
        loaded.append((store.add(archive.blob(manifest.config.digest), layers, all_names), all_names))
    return loaded


def _check_named_digest(stem: str, content: bytes) -> None:
    """docker save names the configuration by its digest; other tools don't, and then nothing is claimed."""
    if len(stem) == 64 and stem != hashlib.sha256(content).hexdigest():
        raise ImageError(f"the archive's configuration does not have the digest {stem}")


class _Archive:
    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._members = {str(PurePosixPath(member.name)): member for member in tar}

    def has(self, path: str) -> bool:
        return path in self._members

    def read(self, path: str) -> bytes:
        with self._open(path) as file:
            return file.read()

    def blob(self, digest: str) -> bytes:
        content = self.read(_blob_path(digest))
        if "sha256:" + hashlib.sha256(content).hexdigest() != digest:
            raise ImageError(f"the archive's blob {digest} does not have that digest")
        return content

    def layer(self, path: str) -> Layer:
        @contextmanager
        def opened() -> Iterator[IO[bytes]]:
            with self._open(path) as file:
                yield _decompressed(file)

        return opened

    def verified_layer(self, digest: str) -> Layer:
        """The compressed bytes are checked too, before anything is unpacked from them."""
        with self._open(_blob_path(digest)) as file:
            found = hashlib.file_digest(cast(Any, file), "sha256").hexdigest()
        if f"sha256:{found}" != digest:
            raise ImageError(f"the archive's layer {digest} does not have that digest")
        return self.layer(_blob_path(digest))

    def _open(self, path: str) -> IO[bytes]:
        member = self._members.get(str(PurePosixPath(path)))
        file = self._tar.extractfile(member) if member else None
        if file is None:
            raise ImageError(f"the archive has no file {path}")
        return file


def _blob_path(digest: str) -> str:
    algorithm, _, value = digest.partition(":")
    return f"blobs/{algorithm}/{value}"


def _decompressed(file: IO[bytes]) -> IO[bytes]:
    magic = file.read(4)
    file.seek(0)
    if magic[:2] == b"\x1f\x8b":
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    if magic == b"\x28\xb5\x2f\xfd":
        raise ImageError("the archive's layers are compressed with zstd; save it with gzip or uncompressed")
    return file
