"""Load balancers: requests through our HAProxy against one configured by hand, and how long a failover takes.

Three nodes in network namespaces, a client on the same network; wrk and both HAProxies share this machine.
"""

from __future__ import annotations

import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.netns.lb_cluster import BalancedCluster, Probes
from tests.netns.proxy_cluster import TARGET, eventually
from tests.netns.topology import Namespace, Pod, network, tcp

from benchmarks.report import Report

WEB, PLAIN = 8080, 9000
SECONDS = 5
ROUNDS = 3
FAILOVERS = 5
HTTP = {"service.beta.kubernetes.io/aws-load-balancer-backend-protocol": "http"}

BACKEND = """
defaults
    mode http
    timeout client 60s
frontend f
    bind :{port}
    http-request return status 200 content-type text/plain string hello
"""
BY_HAND = """
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend f
    bind {address}:{port}
    option forwardfor
    default_backend b
backend b
    balance roundrobin
{servers}
"""


def run(report: Report) -> None:
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root: it makes network namespaces")
    with tempfile.TemporaryDirectory(prefix="fairway-bench.") as folder, cluster(Path(folder)) as built:
        _throughput(report, built)
        _failover(report, built)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[BalancedCluster]:
    with network() as net:
        for _ in range(3):
            node = net.add_node()
            net.add_pod(node, f"web-{node.number}", TARGET)
        built = BalancedCluster(net, folder)
        try:
            yield built
        finally:
            built.close()


def pods(built: BalancedCluster) -> list[Pod]:
    return [node.pods[0] for node in built.net.nodes]


@contextlib.contextmanager
def haproxy(where: Namespace, configuration: str, path: Path) -> Iterator[None]:
    path.write_text(configuration)
    process = subprocess.Popen(
        ["nsenter", f"--net={where.path}", "haproxy", "-db", "-f", str(path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _throughput(report: Report, built: BalancedCluster) -> None:
    client, node = built.net.client, built.net.nodes[0]
    with contextlib.ExitStack() as stack:
        for pod in pods(built)[1:]:
            path = built.folder / f"{pod.name}.cfg"
            stack.enter_context(haproxy(pod.namespace, BACKEND.format(port=WEB), path))
        servers = "\n".join(f"    server s{pod.name} {pod.ip}:{WEB} check" for pod in pods(built)[1:])
        by_hand = BY_HAND.format(address=node.ip, port=PLAIN, servers=servers)
        stack.enter_context(haproxy(node.namespace, by_hand, built.folder / "by-hand.cfg"))
        balanced = built.publish("balanced", pods(built)[1:], HTTP, WEB)
        packets = built.publish("packets", pods(built)[1:], None, WEB)
        ways = {
            "by hand": f"http://{node.ip}:{PLAIN}/",
            "ours": f"http://{balanced}/",
            "packets": f"http://{packets}/",
        }
        for url in ways.values():
            eventually(lambda url=url: client.command("curl", "-sf", "--max-time", "2", url), within=60)
        figures = {name: [] for name in ways}  # type: dict[str, list[tuple[float, float]]]
        for _ in range(ROUNDS):
            for name, url in ways.items():
                figures[name].append(_wrk(client, url))
    rates = {name: statistics.median(rate for rate, _ in found) for name, found in figures.items()}
    tails = {name: statistics.median(tail for _, tail in found) for name, found in figures.items()}
    report.add("plain HAProxy", f"{rates['by hand']:.0f} requests/s, p99 {tails['by hand']:.1f} ms")
    report.add("our balancer", f"{rates['ours']:.0f} requests/s, p99 {tails['ours']:.1f} ms")
    report.add("our balancer / plain HAProxy", f"{rates['ours'] / rates['by hand']:.2f}", "goal 0.80")
    report.add(
        "by packets alone (nftables)", f"{rates['packets']:.0f} requests/s, p99 {tails['packets']:.1f} ms"
    )


def _wrk(where: Namespace, url: str) -> tuple[float, float]:
    """Requests a second, and the 99th percentile in milliseconds."""
    text = where.command("wrk", "-t1", "-c32", f"-d{SECONDS}s", "--latency", url)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    tail = re.search(r"99%\s+([\d.]+)(us|ms|s)", text)
    assert rate is not None, text
    assert tail is not None, text
    return float(rate[1]), float(tail[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[tail[2]]


def _failover(report: Report, built: BalancedCluster) -> None:
    address = built.publish("failing", pods(built))
    client = built.net.client
    eventually(lambda: tcp(client, address, 80), within=60)
    outages = []
    for _ in range(FAILOVERS):
        eventually(lambda: built.holder(address), within=60)
        first = built.holder(address)
        built.node_endpoints("failing", [pod for pod in pods(built) if built.node_of(pod) != first])
        time.sleep(1)
        with Probes(client, address) as probes:
            time.sleep(1)
            built.cut_off(first)
            built.speaker(first).kill()
            eventually(lambda first=first: built.holder(address) not in ("", first), within=60)
            time.sleep(1)
        outages.append(probes.outage())
        built.reconnect(first)
        built.speaker(first).start()
    report.add(
        "failover, node cut off and killed: median", f"{statistics.median(outages):.2f} s", "goal 2.00 s"
    )
    report.add("failover: longest", f"{max(outages):.2f} s", "goal 2.00 s")
