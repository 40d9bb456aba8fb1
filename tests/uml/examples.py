"""A whole cluster in ipvs mode, inside user-mode Linux, on which the sessions of examples are played.

Run by `test_examples.py`. Arguments: names of folders in `examples/`. Prints a line of JSON for each, and one
for what is left behind once the cluster is down.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.clusters import Cluster
from tests.e2e.console import play

from .report import report

ROOT = Path(__file__).parents[2]
FOLDER = Path("/tmp/reader")
"""Where the sessions are typed: the repository can't be written here."""


def main(names: list[str]) -> None:
    shutil.copytree(ROOT / "examples", FOLDER / "examples")
    prepare()
    before = set(traces())
    cluster = Cluster(Path("/tmp/cluster"), "ipvs")
    try:
        report(up=cluster.up("--nodes", "3", "--proxy-mode", cluster.proxy_mode))
        for name in names:
            play_example(name, cluster)
    finally:
        report(logs=cluster.logs(), blamed=blamed(cluster))
        cluster.down()
    report(left_behind=sorted(set(traces()) - before))


def play_example(name: str, cluster: Cluster) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    began = time.monotonic()
    try:
        document = FOLDER / "examples" / name / "README.md"
        count = play(document, FOLDER, cluster.environment | {"PATH": path})
        report(example=name, commands=count, seconds=round(time.monotonic() - began, 1))
    except AssertionError as error:
        report(example=name, error=str(error))


def prepare() -> None:
    """What the first user of a machine that has just been switched on finds done a moment later."""
    for command in ("modprobe ipv6", "ip netns add first", "ip netns delete first"):
        subprocess.run(command.split(), check=True)


def blamed(cluster: Cluster) -> list[str]:
    """What nodes say of others who would have changed their rules, or answer for their addresses. There is
    nobody else here.
    """
    logs = "".join(path.read_text() for path in sorted((cluster.data / "logs").glob("node-*.log")))
    return [line for line in logs.splitlines() if "someone else" in line or "another machine" in line]


def traces() -> Iterator[str]:
    """What a cluster makes on the machine it runs on: devices, namespaces, rules, mounts, processes."""
    yield from (line.split()[1] for line in _lines("ip", "-o", "link"))
    yield from _lines("ip", "netns", "list")
    yield from _lines("ip", "route", "show", "table", "all")
    yield from (line for line in _lines("iptables-save") if line.startswith("-A"))
    yield from (line for line in _lines("nft", "list", "ruleset") if line.strip())
    yield from (line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())
    for entry in Path("/proc").iterdir():
        # Some end while we look.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, NotADirectoryError):
            if entry.name.isdigit() and b"/tmp/cluster" in (entry / "cmdline").read_bytes():
                yield f"process {entry.name}"


def _lines(*command: str) -> list[str]:
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line for line in shown.splitlines() if not line.startswith("#")]


if __name__ == "__main__":
    main(sys.argv[1:])
