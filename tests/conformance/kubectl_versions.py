"""The kubectls that are tried: the one on PATH, and Debian's old one, fetched into .cache if missing."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "kubectl-1.20"
OLD = CACHE / "usr" / "bin" / "kubectl"
PACKAGE = "kubernetes-client"
FETCH_SECONDS = 120


def current() -> str | None:
    return shutil.which("kubectl")


@cache
def old() -> str | None:
    """None if it can't be had here."""
    if not OLD.exists():
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            _fetch()
    return str(OLD) if OLD.exists() else None


def _fetch() -> None:
    """Unpacked only, nothing is installed; complete or not there at all."""
    CACHE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE.parent) as folder:
        command = ["apt-get", "download", PACKAGE]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=FETCH_SECONDS)
        (package,) = Path(folder).glob(f"{PACKAGE}_*.deb")
        unpacked = Path(folder) / "unpacked"
        subprocess.run(["dpkg", "-x", package, unpacked], check=True, capture_output=True)
        unpacked.rename(CACHE)
