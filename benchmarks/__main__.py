"""Runs the benchmarks named on the command line, or all of them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks.report import Report

NAMES = ("api", "controllers", "proxy", "proxy_modes", "dns", "up", "ingress")


def main() -> None:
    chosen = sys.argv[1:] or list(NAMES)
    for name in chosen:
        if name not in NAMES:
            sys.exit(f"there is no benchmark {name!r}; there are {', '.join(NAMES)}")
        report = Report(name)
        importlib.import_module(f"benchmarks.{name}").run(report)
        print(report.text())
        results = Path(__file__).parent / "results"
        results.mkdir(exist_ok=True)
        (results / f"{name}.txt").write_text(report.text())


main()
