"""The DNS server: questions a second of every kind beside knot in the same run, memory, time to ready.

Where others use the machine, too, processor time a question and its ratio to knot's tell more than rates.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.apiserver_process import api_server
from benchmarks.dns_questions import (
    ENDPOINTS,
    HEADLESS,
    KINDS,
    OUTSIDE_KIND,
    SERVICES,
    Kind,
    headless_name,
    service_name,
)
from benchmarks.dns_servers import Server, cluster_ip, endpoint_address, fairway, free_port, knot
from benchmarks.report import Report
from fairway.api.resources import ENDPOINT_SLICES
from fairway.api.resources import SERVICES as SERVICE_KIND
from fairway.client import Client, KubeConfig

SECONDS = 4
_AT_ONCE = 64


def run(report: Report) -> None:
    for program in ("knotd", "dnsperf"):
        if shutil.which(program) is None:
            sys.exit(f"this benchmark needs {program}: apt-get install knot dnsperf")
    with api_server(free_port()) as api, tempfile.TemporaryDirectory(prefix="fairway-bench.") as folder:
        asyncio.run(fill(api.kubeconfig))
        with (
            knot(Path(folder) / "knot") as other,
            fairway(Path(folder) / "fairway", api.kubeconfig, other.port) as ours,
        ):
            took = f"{ours.ready_after:.2f} s, {ours.processor_seconds():.2f} s of processor time"
            report.add(f"ready, {SERVICES:,} Services", took, "goal 1 s")
            _memory(report, ours, "at first")
            for kind in KINDS:
                _compare(report, kind, ours, other)
            # The same names come straight from knot's own zone there, so the ratio says what a cache costs.
            _compare(report, OUTSIDE_KIND, ours, other)
            _memory(report, ours, "after all")


def _memory(report: Report, server: Server, when: str) -> None:
    text = f"{server.memory('Pss'):.0f} MB PSS, {server.memory('Rss'):.0f} MB RSS"
    report.add(f"memory, {when}", text, "goal 100 MB")


@dataclass(frozen=True)
class Measured:
    rate: float
    latency: float
    lost: int
    processor: float
    """Microseconds of processor time a question."""


def _compare(report: Report, kind: Kind, ours: Server, other: Server) -> None:
    first, second = measure(kind, ours), measure(kind, other)
    text = f"{first.rate:9,.0f}/s {first.latency:6.2f} ms {first.processor:5.1f} us, {first.lost} lost"
    text += f" | knot {second.rate:9,.0f}/s {second.processor:5.1f} us"
    text += f" | ratio {first.rate / second.rate:.2f}, by processor {second.processor / first.processor:.2f}"
    report.add(kind.about, text, kind.goal)


def measure(kind: Kind, server: Server) -> Measured:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(kind.lines())
        file.flush()
        before = server.processor_seconds()
        command = ["dnsperf", "-s", "127.0.0.1", "-p", str(server.port), "-d", file.name, "-l", str(SECONDS)]
        command += ["-c", "8", "-q", "200", *kind.options]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        used = server.processor_seconds() - before
    asked = int(re.findall(r"Queries completed:\s+(\d+)", text)[0])
    return Measured(
        float(re.findall(r"Queries per second:\s+([\d.]+)", text)[0]),
        float(re.findall(r"Average Latency \(s\):\s+([\d.]+)", text)[0]) * 1000,
        int(re.findall(r"Queries lost:\s+(\d+)", text)[0]),
        used / max(asked, 1) * 1e6,
    )


async def fill(kubeconfig: str) -> None:
    """All Services and their slices, made through the API."""
    async with Client(KubeConfig.load(kubeconfig)) as client:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def create(resource: Any, body: dict[str, Any]) -> None:
            async with gate:
                await client.create(resource, body, namespace="default")

        async with asyncio.TaskGroup() as tasks:
            for number in range(SERVICES):
                name = service_name(number)
                tasks.create_task(create(SERVICE_KIND, _service(name, cluster_ip(number))))
                tasks.create_task(create(ENDPOINT_SLICES, _slice(name, number, 2)))
            for number in range(HEADLESS):
                name = headless_name(number)
                tasks.create_task(create(SERVICE_KIND, _service(name, "None")))
                tasks.create_task(create(ENDPOINT_SLICES, _slice(name, number, ENDPOINTS)))


def _service(name: str, address: str) -> dict[str, Any]:
    spec = {"clusterIP": address, "ports": [{"name": "http", "port": 80}]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def _slice(name: str, number: int, count: int) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": "default", "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080}],
        "endpoints": [{"addresses": [endpoint_address(number, seat)]} for seat in range(count)],
    }
