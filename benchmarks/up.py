"""A whole cluster: from nothing to the first answer through a Service, and what it weighs."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import Report

FAIRWAY = str(Path(sys.executable).with_name("fairway"))
MANIFEST = Path(__file__).parents[1] / "examples" / "01-hostnames" / "hostnames.yaml"


def run(report: Report) -> None:
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root: it makes network namespaces")
    for nodes in (1, 3):
        begin = time.perf_counter()
        with cluster(nodes) as data:
            ready = time.perf_counter() - begin
            report.add(f"ready, {nodes} node(s)", f"{ready:.2f} s", "goal 1.50 s" if nodes == 1 else "")
            report.add(f"memory before Pods, {nodes} node(s)", f"{memory(data):.0f} MB", "goal 150 MB")
            first_answer(data)
            answered = time.perf_counter() - begin
            goal = "goal 3.00 s" if nodes == 1 else ""
            report.add(f"first answer through a Service, {nodes} node(s)", f"{answered:.2f} s", goal)


@contextlib.contextmanager
def cluster(nodes: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fairway-bench.") as folder:
        subprocess.run(
            [FAIRWAY, "up", "--data", folder, "--nodes", str(nodes), "--detach"],
            check=True,
            capture_output=True,
        )
        try:
            yield Path(folder)
        finally:
            subprocess.run([FAIRWAY, "down", "--data", folder], check=True, capture_output=True)


def first_answer(data: Path) -> None:
    kubectl = ["kubectl", "--kubeconfig", str(data / "kubeconfig")]
    subprocess.run([*kubectl, "apply", "-f", str(MANIFEST)], check=True, capture_output=True)
    path = ["get", "service", "hostnames", "-o", "jsonpath={.spec.clusterIP}"]
    address = subprocess.run([*kubectl, *path], check=True, capture_output=True, text=True).stdout
    while subprocess.run(["curl", "-sf", "--max-time", "1", address], capture_output=True).returncode:
        time.sleep(0.01)


def memory(data: Path) -> float:
    """Megabytes of all processes of the cluster, shared pages counted by share (PSS)."""
    total = 0
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and str(data).encode() in (entry / "cmdline").read_bytes():
                found = re.search(r"^Pss:\s+(\d+)", (entry / "smaps_rollup").read_text(), re.MULTILINE)
                total += int(found[1]) if found else 0
    return total / 1024
