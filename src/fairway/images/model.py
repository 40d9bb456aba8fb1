"""What an image is, as those who run containers see it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec


class ImageConfig(msgspec.Struct, frozen=True, rename="pascal"):
    """What an image says of how to run it."""

    entrypoint: list[str] | None = None
    cmd: list[str] | None = None
    env: list[str] | None = None
    working_dir: str = ""
    user: str = ""
    stop_signal: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    digest: str
    rootfs: Path
    config: ImageConfig
