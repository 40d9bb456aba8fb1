"""What is on this machine that a cluster could leave behind: links, routes, rules, mounts, processes…"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

OTHERS = "fwtest-"
"""What other tests make beside us, in namespaces of their own."""


def lines(*command: str) -> set[str]:
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line for line in output.splitlines() if OTHERS not in line}


def snapshot(data: Path) -> dict[str, set[str]]:
    """`data` is the cluster's directory: other clusters and servers of ours may run beside it."""
    return {
        "links": {re.sub(r"@\S+", "", line.split()[1]) for line in lines("ip", "-o", "link")},
        "routes": lines("ip", "route", "show", "table", "all"),
        "namespaces": lines("ip", "netns", "list"),
        "rules": {line for line in lines("nft", "list", "ruleset") if line},
        "mounts": mounts(),
        "cgroups": {
            str(path)
            for hierarchy in Path("/sys/fs/cgroup").iterdir()
            for path in hierarchy.glob("fairway/**/")
        },
        "processes": processes(data),
        "forwarding": {Path("/proc/sys/net/ipv4/ip_forward").read_text().strip()},
        "run": {entry.name for entry in Path("/run").iterdir()},
    }


def mounts() -> set[str]:
    points = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    return {point for point in points if OTHERS not in point}


def processes(data: Path) -> set[str]:
    """Everything that was started for the cluster, and all that runs in a container of ours."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                arguments = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                cgroup = (entry / "cgroup").read_text()
            except OSError:
                continue
            if str(data) in arguments or "/fairway/" in cgroup:
                found.add(f"{entry.name} {arguments.strip()}")
    return found
