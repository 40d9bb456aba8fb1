"""A whole cluster: from nothing to the first answer through a Service, and what it weighs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import processes
from benchmarks.report import Report
from fairway.api.objects import Pod
from fairway.api.resources import PODS
from fairway.client import Client, Informer, KubeConfig

FAIRWAY = str(Path(sys.executable).with_name("fairway"))
MANIFEST = Path(__file__).parents[1] / "examples" / "01-hostnames" / "hostnames.yaml"
ONE_BY_ONE, AT_ONCE = 20, 100


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
            if nodes == 1:
                asyncio.run(pods(report, data))


async def pods(report: Report, data: Path) -> None:
    """One Pod after the other, then many at once, from create to Ready as an API client sees it."""
    async with Client(KubeConfig.load(data / "kubeconfig"), component="bench") as client:
        watch = Readiness(client)
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watch.run())
            await watch.synced()
            taken = sorted([await watch.start_one(f"one-{number}") for number in range(ONE_BY_ONE)])
            report.add(
                "a Pod Running and Ready, p50", f"{statistics.median(taken) * 1000:.0f} ms", "goal 300 ms"
            )
            report.add("a Pod Running and Ready, slowest", f"{taken[-1] * 1000:.0f} ms", f"of {ONE_BY_ONE}")
            # A node takes 110 Pods: these make room for the many.
            for number in range(ONE_BY_ONE):
                await client.delete(PODS, f"one-{number}", namespace="default", grace_period_seconds=0)
            begin = time.perf_counter()
            await asyncio.gather(*(watch.start_one(f"many-{number}") for number in range(AT_ONCE)))
            seconds = time.perf_counter() - begin
            report.add(
                f"{AT_ONCE} Pods at once on one node", f"{seconds:.2f} s", f"{AT_ONCE / seconds:.1f} Pods/s"
            )
            watching.cancel()


class Readiness:
    """Tells when Pods have become ready."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._informer = Informer(client, PODS, type=Pod, namespace="default")
        self._informer.on_change(self._changed)
        self._waiting: dict[str, asyncio.Event] = {}

    async def run(self) -> None:
        await self._informer.run()

    async def synced(self) -> None:
        await self._informer.synced()

    def _changed(self, key: str, old: Pod | None, new: Pod | None) -> None:
        waiting = self._waiting.get(new.metadata.name) if new else None
        if (
            new
            and waiting
            and any(c.type == "Ready" and c.status == "True" for c in new.status.conditions or ())
        ):
            waiting.set()

    async def start_one(self, name: str) -> float:
        ready = self._waiting[name] = asyncio.Event()
        container = {"name": "main", "image": "k8s.gcr.io/serve_hostname"}
        begin = time.perf_counter()
        body = {"metadata": {"name": name}, "spec": {"containers": [container]}}
        await self._client.create(PODS, body, namespace="default")
        await asyncio.wait_for(ready.wait(), 300)
        return time.perf_counter() - begin


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
    total = 0.0
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and str(data).encode() in (entry / "cmdline").read_bytes():
                total += processes.memory(int(entry.name))
    return total
