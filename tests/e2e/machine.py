"""What is on this machine that a cluster could leave behind: links, routes, rules, mounts, processes…"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from fairway.nodeagent.removal import node_cgroup

OTHERS = "fwtest-"
"""What other tests make beside us, in namespaces of their own."""


def lines(*command: str) -> set[str]:
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line for line in output.splitlines() if OTHERS not in line}


MOST_NODES = 9
HIERARCHIES = Path("/sys/fs/cgroup")


def snapshot(*clusters: Path) -> dict[str, set[str]]:
    """`clusters` are the data folders of those looked at: others may come and go beside them."""
    groups = own_groups(clusters)
    return {
        "links": {re.sub(r"@\S+", "", line.split()[1]) for line in lines("ip", "-o", "link")},
        "routes": lines("ip", "route", "show", "table", "all"),
        "namespaces": lines("ip", "netns", "list"),
        "rules": {line for line in lines("nft", "list", "ruleset") if line},
        "mounts": mounts(),
        "cgroups": cgroups(groups),
        "processes": processes(clusters, groups),
        "forwarding": {Path("/proc/sys/net/ipv4/ip_forward").read_text().strip()},
        "run": {entry.name for entry in Path("/run").iterdir()},
    }


def mounts() -> set[str]:
    points = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    return {point for point in points if OTHERS not in point}


def own_groups(clusters: Iterable[Path]) -> list[str]:
    """The control groups that nodes of these clusters put their containers in."""
    numbers = range(1, MOST_NODES + 1)
    return [node_cgroup(data / "nodes" / f"node-{number}") for data in clusters for number in numbers]


def cgroups(groups: Iterable[str]) -> set[str]:
    """With all below them; and the one above, if it stands empty: someone else's group may be all it has."""
    found = set()
    for hierarchy in HIERARCHIES.iterdir():
        for group in groups:
            found.update(str(path) for path in hierarchy.glob(f"{group.strip('/')}/**/"))
        above = hierarchy / "fairway"
        if above.is_dir() and not any(entry.is_dir() for entry in above.iterdir()):
            found.add(str(above))
    return found


def processes(clusters: Iterable[Path], groups: Iterable[str]) -> set[str]:
    """Everything that was started for the clusters, and all that runs in a container of theirs."""
    found = set()
    names = [str(data) for data in clusters]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                arguments = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                cgroup = (entry / "cgroup").read_text()
            except OSError:
                continue
            if any(name in arguments for name in names) or any(group in cgroup for group in groups):
                found.add(f"{entry.name} {arguments.strip()}")
    return found
