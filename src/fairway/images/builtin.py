"""Images made on this machine from the static busybox, under the names that examples use.

A recipe is a list of files and a command. Stand-ins say what they are: the `nginx` here is busybox's httpd.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import struct
import subprocess
import tarfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from fairway.images.model import Image
from fairway.images.reference import Reference
from fairway.images.store import ImageError, ImageStore

BUSYBOX = Path("/bin/busybox")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# On SIGTERM the server goes on for a moment, for connections that were on their way; then it ends.
_SERVE = """#!/bin/sh
# serve PORT FOLDER: static files over HTTP, ending on SIGTERM, SIGINT or SIGQUIT.
httpd -f -p "$1" -h "$2" &
server=$!
trap 'usleep 200000; kill "$server"; usleep 100000; exit 0' TERM INT QUIT
wait "$server"
"""
_SERVE_HOSTNAME = """#!/bin/sh
# The hostname on port 9376. Files lie in memory, so a read-only root will do.
mkdir -p /dev/shm/www
hostname > /dev/shm/www/index.html
echo ok > /dev/shm/www/healthz
exec serve 9376 /dev/shm/www
"""
_PAUSE = """#!/bin/sh
trap 'exit 0' TERM INT
while :; do sleep 86400 & wait; done
"""
_NGINX_PAGE = """<!DOCTYPE html>
<title>nginx stand-in</title>
<p>This is Fairway's stand-in for nginx: busybox httpd.
Load the real one with <code>fairway image load</code>.
"""


@dataclass(frozen=True, slots=True)
class Recipe:
    command: tuple[str, ...]
    scripts: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


RECIPES = {
    "docker.io/library/busybox": Recipe(("sh",)),
    "k8s.gcr.io/serve_hostname": Recipe(
        ("serve_hostname",), {"bin/serve": _SERVE, "bin/serve_hostname": _SERVE_HOSTNAME}
    ),
    "docker.io/library/nginx": Recipe(
        ("serve", "80", "/usr/share/nginx/html"),
        {"bin/serve": _SERVE},
        {"usr/share/nginx/html/index.html": _NGINX_PAGE},
    ),
    "registry.k8s.io/pause": Recipe(("pause",), {"bin/pause": _PAUSE}),
}
_ALIASES = {
    "registry.k8s.io/serve_hostname": "k8s.gcr.io/serve_hostname",
    "gcr.io/google_containers/serve_hostname": "k8s.gcr.io/serve_hostname",
    "k8s.gcr.io/busybox": "docker.io/library/busybox",
    "registry.k8s.io/busybox": "docker.io/library/busybox",
    "gcr.io/google_containers/busybox": "docker.io/library/busybox",
    "k8s.gcr.io/pause": "registry.k8s.io/pause",
}


def recipe_for(reference: Reference) -> Recipe | None:
    """Any tag will do; a digest asks for one exact image, which a built-in can't be."""
    if reference.digest:
        return None
    return RECIPES.get(_ALIASES.get(reference.name, reference.name))


def build(store: ImageStore, recipe: Recipe, busybox: Path = BUSYBOX) -> Image:
    """Make the image and enter it into the store. The same busybox gives the same digest."""
    layer = _layer(recipe, busybox)
    config = {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Cmd": list(recipe.command), "Env": [f"PATH={_PATH}"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    }
    encoded = json.dumps(config, sort_keys=True).encode()
    return store.add(encoded, [lambda: nullcontext(io.BytesIO(layer))], ())


def _layer(recipe: Recipe, busybox: Path) -> bytes:
    program = _static_program(busybox)
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        write = _Writer(archive)
        for folder in ("bin", "dev", "etc", "proc", "root", "sys", "usr/bin", "var/run"):
            write.folder(folder)
        write.folder("tmp", 0o1777)
        write.file("bin/busybox", program, 0o755)
        for applet in _applets(busybox):
            write.link(f"bin/{applet}", "busybox")
        write.link("usr/bin/env", "/bin/busybox")
        write.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
        write.file("etc/group", b"root:x:0:\nnogroup:x:65534:\n")
        for path, text in recipe.scripts.items():
            write.file(path, text.encode(), 0o755)
        for path, text in recipe.files.items():
            write.file(path, text.encode())
    return content.getvalue()


class _Writer:
    """Adds members whose time and owner are always the same, so that equal content has an equal digest."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive

    def folder(self, path: str, mode: int = 0o755) -> None:
        self._add(path, tarfile.DIRTYPE, mode)

    def file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        def sized(member: tarfile.TarInfo) -> None:
            member.size = len(content)

        self._add(path, tarfile.REGTYPE, mode, sized, io.BytesIO(content))

    def link(self, path: str, target: str) -> None:
        def pointed(member: tarfile.TarInfo) -> None:
            member.linkname = target

        self._add(path, tarfile.SYMTYPE, 0o777, pointed)

    def _add(
        self,
        path: str,
        kind: bytes,
        mode: int,
        finish: Callable[[tarfile.TarInfo], None] = lambda member: None,
        content: io.BytesIO | None = None,
    ) -> None:
        member = tarfile.TarInfo(path)
        member.type, member.mode = kind, mode
        finish(member)
        self._archive.addfile(member, content)


def _static_program(path: Path) -> bytes:
    try:
        program = path.read_bytes()
    except FileNotFoundError:
        raise ImageError(f"built-in images need {path}: install the package busybox-static") from None
    if _needs_interpreter(program):
        raise ImageError(f"{path} is not statically linked: install the package busybox-static")
    return program


def _needs_interpreter(program: bytes) -> bool:
    """Whether an ELF file has a PT_INTERP header (3), that is, wants a dynamic loader."""
    if program[:4] != b"\x7fELF" or program[4] != 2:
        return False
    (offset,) = struct.unpack_from("<Q", program, 0x20)
    size, count = struct.unpack_from("<HH", program, 0x36)
    return any(struct.unpack_from("<I", program, offset + n * size)[0] == 3 for n in range(count))


def _applets(busybox: Path) -> list[str]:
    listed = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    return sorted(set(listed) - {"busybox"})
