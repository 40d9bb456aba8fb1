"""A table of measurements, each beside what it is to reach."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field


@dataclass
class Report:
    name: str
    rows: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, what: str, measured: str, goal: str = "") -> None:
        self.rows.append((what, measured, goal))
        print(f"  {what}: {measured}", flush=True)

    def text(self) -> str:
        widths = [max(len(row[column]) for row in self.rows) for column in range(2)]
        lines = [f"{self.name} ({os.cpu_count()} cores, Python {platform.python_version()})", ""]
        lines += [
            f"{what:<{widths[0]}}  {got:>{widths[1]}}  {goal}".rstrip() for what, got, goal in self.rows
        ]
        return "\n".join(lines) + "\n"
