"""Facts about this machine, read from where Linux keeps them."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from fairway.nodeagent.node.registration import Machine

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}


def inspect(data: Path, runtime: str) -> Machine:
    return Machine(
        cpus=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        disk_bytes=shutil.disk_usage(data).total,
        architecture=_ARCHITECTURES.get(platform.machine(), platform.machine()),
        kernel=platform.release(),
        os_image=platform.freedesktop_os_release().get("PRETTY_NAME", "Linux"),
        machine_id=_line("/etc/machine-id"),
        boot_id=_line("/proc/sys/kernel/random/boot_id"),
        runtime=runtime,
    )


def _line(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
