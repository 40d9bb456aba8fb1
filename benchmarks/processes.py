"""What processes have used, as the kernel counts it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path


def memory(pid: int, what: str = "Pss") -> float:
    """Megabytes: `Pss`, where shared pages are counted by share, or `Rss`."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(rf"^{what}:\s+(\d+)", text, re.MULTILINE)
    assert found
    return int(found[1]) / 1024


def used(pid: int) -> float:
    """Seconds of the processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def family(pid: int) -> Iterator[int]:
    """A process and all that it started."""
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from family(int(child))
