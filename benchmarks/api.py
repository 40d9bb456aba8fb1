"""The API server: durable creates, reads, lists, watch latency, start-up, memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from benchmarks.apiserver_process import TOKEN, Server, api_server
from benchmarks.report import Report
from fairway.api.resources import CONFIG_MAPS, SERVICES
from fairway.client import Client, KubeConfig

FOLDER = Path(__file__).parent
SECONDS = 5
SERVICES_WANTED = 10_000
WATCHED = CONFIG_MAPS.path("default")


def run(report: Report) -> None:
    if shutil.which("wrk") is None:
        sys.exit("this benchmark needs wrk: apt-get install wrk")
    with api_server() as server:
        report.add("ready after process start", f"{server.ready_after:.2f} s", "goal 0.60 s")
        report.add("memory, empty", f"{server.memory():.0f} MB", "goal 60 MB")
        path = "/api/v1/namespaces/default/services/kubernetes"
        report.add("GET, 16 connections", rate(wrk(server, path, "get.lua", 16)), "goal 10,000/s")
        for connections in (1, 16):
            made = wrk(server, "", "create_services.lua", connections, prefix=f"c{connections}")
            goal = "goal 3,000/s" if connections == 16 else ""
            report.add(f"durable creates, {connections} connections", rate(made), goal)
    with api_server() as server:
        uvloop.run(with_many_services(server, report))


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s"


def wrk(server: Server, path: str, script: str, connections: int, prefix: str = "b") -> float:
    threads = "1" if connections == 1 else "2"
    done = subprocess.run(
        [
            "wrk",
            f"-t{threads}",
            f"-c{connections}",
            f"-d{SECONDS}",
            "-s",
            str(FOLDER / script),
            server.url + path,
        ],
        env={**os.environ, "TOKEN": TOKEN, "PREFIX": prefix},
        capture_output=True,
        text=True,
        check=True,
    )
    if "Non-2xx" in done.stdout:
        raise RuntimeError(done.stdout)
    found = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    assert found, done.stdout
    return float(found[1])


async def with_many_services(server: Server, report: Report) -> None:
    async with Client(KubeConfig.load(server.kubeconfig)) as client:
        await fill(client, SERVICES_WANTED)
        report.add(f"memory, {SERVICES_WANTED:,} Services", f"{server.memory():.0f} MB")
        times = [await timed_list(client) for _ in range(15)]
        report.add(
            f"LIST of {SERVICES_WANTED:,}, median", f"{statistics.median(times) * 1000:.0f} ms", "goal 30 ms"
        )
        for others in (0, 190):
            with sink(server, others):
                delays = sorted(await watch_delays(client, watchers=10 if others else 1))
            p50, p99 = delays[len(delays) // 2], delays[int(len(delays) * 0.99)]
            report.add(
                f"watch latency, {others + 10 if others else 1} watchers, p50 / p99",
                f"{p50 * 1000:.1f} / {p99 * 1000:.1f} ms",
                "goal p99 10 ms",
            )


@contextlib.contextmanager
def sink(server: Server, watchers: int) -> Iterator[None]:
    """Watchers in a process of their own, which leaves the measuring one to itself."""
    words = [sys.executable, "-m", "benchmarks.watch_sink", str(server.port), TOKEN, WATCHED, str(watchers)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield
        process.kill()


async def fill(client: Client, count: int) -> None:
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            spec = {
                "selector": {"app": f"s{number}"},
                "ports": [{"name": "http", "port": 80, "targetPort": 8080}],
            }
            obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"s{number}"}, "spec": spec}
            await client.create(SERVICES, obj, namespace="default")

    await asyncio.gather(*(worker() for _ in range(16)))


async def timed_list(client: Client) -> float:
    begin = time.perf_counter()
    await client.request("GET", SERVICES.path("default"))
    return time.perf_counter() - begin


async def watch_delays(client: Client, watchers: int, writes: int = 500) -> list[float]:
    """Seconds from sending a write to a watcher's seeing it (the client decodes nothing)."""
    sent: dict[bytes, float] = {}
    delays: list[float] = []

    async def watch(started: asyncio.Event) -> None:
        async with client.stream(WATCHED, params={"watch": "true"}) as chunks:
            started.set()
            async for chunk in chunks:
                now = time.perf_counter()
                for mark in re.findall(rb'"name":"(w-[\d-]+)"', chunk):
                    if mark in sent:
                        delays.append(now - sent[mark])

    events = [asyncio.Event() for _ in range(watchers)]
    tasks = [asyncio.create_task(watch(event)) for event in events]
    await asyncio.gather(*(event.wait() for event in events))
    for number in range(writes):
        name = f"w-{watchers}-{number}"
        sent[name.encode()] = time.perf_counter()
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        await client.create(CONFIG_MAPS, obj, namespace="default")
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return delays
