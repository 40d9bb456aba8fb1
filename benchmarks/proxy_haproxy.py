"""The userspace mode against HAProxy in TCP mode, with the same backends, clients and machine in one run.

Backends and clients are C programs (HAProxy answering by itself, wrk), so that what is between them counts.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tests.netns.topology import Namespace

from benchmarks.processes import used
from benchmarks.proxy_bed import Bed, publish
from benchmarks.proxy_traffic import SINK_PORT
from benchmarks.report import Report

SECONDS = 4
WEB, SINK = "10.96.0.90", "10.96.0.91"
WEB_PORT = 8080
_LIMITS = """
defaults
    timeout connect 5s
    timeout client 30s
    timeout server 30s
    maxconn 20000
"""
_BACKEND = f"""{_LIMITS}
frontend web
    mode http
    option httpclose
    bind :{WEB_PORT}
    http-request return status 200 content-type text/plain string ok
"""


@dataclass(frozen=True)
class Way:
    """One way to the backends: where clients go, and what does the work."""

    name: str
    web: str
    sink: str
    used: Callable[[], float]


def compare(report: Report, made: Bed) -> None:
    if shutil.which("haproxy") is None or shutil.which("wrk") is None:
        report.add("userspace mode against HAProxy", "not measured", "needs haproxy and wrk")
        return
    backends = made.backends
    made.call(lambda client: publish(client, "web", WEB, WEB_PORT, backends))
    made.call(lambda client: publish(client, "sink", SINK, SINK_PORT, backends))
    with contextlib.ExitStack() as stack:
        for pod in made.net.nodes[0].pods[:2]:
            stack.enter_context(haproxy(made, pod.namespace, pod.name, _BACKEND))
        ways = [Way("no proxy", f"{backends[0]}:{WEB_PORT}", f"{backends[0]}:{SINK_PORT}", lambda: 0.0)]
        node = made.net.nodes[0].ip
        for threads, port in ((os.cpu_count() or 1, 9000), (1, 9100)):
            pid = stack.enter_context(
                haproxy(made, made.node, f"front{port}", front(backends, port, threads))
            )
            name = f"HAProxy, {threads} thread{'s' if threads > 1 else ''}"
            ways.append(Way(name, f"{node}:{port}", f"{node}:{port + 1}", partial(used, pid)))
        relay = stack.enter_context(made.proxy("userspace")).relay
        ways.append(Way("userspace mode", f"{WEB}:80", f"{SINK}:80", partial(used, relay)))
        for _ in range(2):
            for way in ways:
                connections(report, made, way)
                stream(report, made, way)


def front(backends: list[str], first: int, threads: int) -> str:
    def listen(name: str, port: int, target: int) -> str:
        servers = "".join(f"    server {n} {ip}:{target}\n" for n, ip in enumerate(backends))
        return f"listen {name}\n    mode tcp\n    balance roundrobin\n    bind :{port}\n{servers}"

    web, sink = listen("web", first, WEB_PORT), listen("sink", first + 1, SINK_PORT)
    return f"global\n    nbthread {threads}\n{_LIMITS}{web}{sink}"


@contextlib.contextmanager
def haproxy(made: Bed, where: Namespace, name: str, configuration: str) -> Iterator[int]:
    path = made.folder / f"{name}.cfg"
    path.write_text(configuration)
    command = ["nsenter", f"--net={where.path}", "haproxy", "-db", "-f", str(path)]
    # Linux shares the processor among sessions first (autogroup), and the relay has one of its own, too.
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        time.sleep(0.5)
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


def connections(report: Report, made: Bed, way: Way) -> None:
    before = way.used()
    arguments = ["wrk", "-t1", "-c32", f"-d{SECONDS}", "-H", "Connection: close", f"http://{way.web}/"]
    output = made.client.command(*arguments)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    total = re.search(r"(\d+) requests in", output)
    assert rate, output
    assert total, output
    each = (way.used() - before) / max(int(total[1]), 1)
    report.add(
        f"{way.name}: connections",
        f"{float(rate[1]):,.0f}/s",
        f"{each * 1e6:.0f} µs of CPU each" if each else "",
    )


def stream(report: Report, made: Bed, way: Way) -> None:
    before = way.used()
    speed = made.traffic("send", str(SECONDS), way.sink)
    each = (way.used() - before) / (speed * SECONDS / 1e9)
    report.add(
        f"{way.name}: one stream",
        f"{speed / 1e9:.2f} GB/s",
        f"{each * 1e3:.0f} ms of CPU a GB" if each else "",
    )
