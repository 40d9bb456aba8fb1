"""Fetching images from registries, by skopeo where it is installed: it knows registries, we know archives."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from fairway.images import archive
from fairway.images.model import Image
from fairway.images.reference import InvalidReference, parse
from fairway.images.store import ImageError, ImageStore


def pull(store: ImageStore, name: str) -> Image:
    """Blocking. What is fetched is checked by its digests like anything that is loaded."""
    try:
        reference = parse(name)
    except InvalidReference as error:
        raise ImageError(str(error)) from error
    skopeo = shutil.which("skopeo")
    if skopeo is None:
        raise ImageError(
            "pulling needs skopeo (Debian: apt-get install skopeo); without it, save the image elsewhere "
            "(docker save, podman save) and run `fairway image load FILE`"
        )
    with tempfile.TemporaryDirectory(prefix="fairway-pull-") as folder:
        file = Path(folder, "image.tar")
        command = [skopeo, "copy", "--quiet", f"docker://{reference}", f"docker-archive:{file}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ImageError(f"skopeo could not pull {reference}: {done.stderr.strip()}")
        names = () if reference.digest else (str(reference),)
        loaded = archive.load(store, file, names)
    image, _ = loaded[0]
    return image
