"""Image archives for tests, made by hand so that their digests can be made wrong too."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

Member = tuple[tarfile.TarInfo, bytes]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def entry(
    path: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644
) -> Member:
    info = tarfile.TarInfo(path)
    info.type, info.linkname, info.mode, info.size = kind, link, mode, len(content)
    return info, content


def tar(*members: Member) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return content.getvalue()


def config(*layers: bytes, **run: Any) -> bytes:
    diff_ids = [f"sha256:{digest(layer)}" for layer in layers]
    return json.dumps({"config": run, "rootfs": {"type": "layers", "diff_ids": diff_ids}}).encode()


def docker_archive(path: Path, layers: list[bytes], names: list[str], image: bytes | None = None) -> Path:
    image = config(*layers, Cmd=["sh"]) if image is None else image
    manifest = [
        {
            "Config": f"{digest(image)}.json",
            "RepoTags": names,
            "Layers": [f"{n}/layer.tar" for n in range(len(layers))],
        }
    ]
    members = [entry(f"{n}/layer.tar", layer) for n, layer in enumerate(layers)]
    members += [entry(f"{digest(image)}.json", image), entry("manifest.json", json.dumps(manifest).encode())]
    path.write_bytes(tar(*members))
    return path


def oci_archive(path: Path, layer: bytes, name: str, corrupt: str = "") -> Path:
    compressed, image = gzip.compress(layer), config(layer, Cmd=["sh"])
    manifest = json.dumps(
        {
            "config": {"digest": f"sha256:{digest(image)}"},
            "layers": [{"digest": f"sha256:{digest(compressed)}"}],
        }
    ).encode()
    annotations = {"io.containerd.image.name": name}
    index = {"manifests": [{"digest": f"sha256:{digest(manifest)}", "annotations": annotations}]}
    blobs = {"layer": compressed, "config": image, "manifest": manifest}
    members = [
        entry(f"blobs/sha256/{digest(blob)}", blob + b" " if kind == corrupt else blob)
        for kind, blob in blobs.items()
    ]
    path.write_bytes(tar(*members, entry("index.json", json.dumps(index).encode())))
    return path
