"""The node proxy: ten thousand Services from nothing, one change, connections, throughput, what it weighs.

`python -m benchmarks.proxy --mode iptables` measures another mode. Wall time depends on who else uses the
machine, so the processor time stands beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from typing import IO

from benchmarks.proxy_bed import Bed, Proxy, bed, move, publish
from benchmarks.proxy_haproxy import compare
from benchmarks.proxy_traffic import NAME_PORT, SINK_PORT
from benchmarks.report import Report
from fairway.client import Client

MANY = 10_000
CHANGES = 200
STEPS = (10, 1_000, MANY, 30_000)


def run(report: Report, mode: str = "nftables") -> None:
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root: it makes network namespaces")
    with bed() as made:
        for count in STEPS:
            made.grow(count)
            with made.proxy(mode) as proxy:
                if count == MANY:
                    start(report, proxy)
                    rest(report, proxy)
                    change(report, made)
                    throughput(report, made)
                connection(report, made)
    with bed() as made:
        made.grow(1)
        compare(report, made)


def start(report: Report, proxy: Proxy) -> None:
    label, synced, done = f"{MANY:,} Services x 2 endpoints", proxy.synced, proxy.programmed
    report.add(
        f"{label} programmed after process start, wall / CPU",
        f"{done.wall:.2f} / {done.used:.2f} s",
        "goal 2.50 s (nftables, as all goals here)",
    )
    report.add(
        f"{label} programmed after sync, wall / CPU",
        f"{done.wall - synced.wall:.2f} / {done.used - synced.used:.2f} s",
        "goal 0.80 s",
    )


def rest(report: Report, proxy: Proxy) -> None:
    report.add(f"memory (PSS), {MANY:,} Services", f"{proxy.memory():.0f} MB", "goal 120 MB")
    time.sleep(2)
    before, seconds = proxy.used(), 10
    time.sleep(seconds)
    share = (proxy.used() - before) / seconds
    report.add("CPU at rest", f"{share:.2%}", "goal: none to be measured")


def change(report: Report, made: Bed) -> None:
    """A Service's only endpoint moves to the other backend and back; a client asks for it all the time."""
    number = made.services - 1
    target = f"{made.address(number)}:80"
    follower = made.start(made.client, "-m", "benchmarks.proxy_traffic", "follow", target)
    assert follower.stdout is not None
    try:
        delays = sorted(moves(made, f"s{number}", follower.stdout)[10:])
    finally:
        follower.terminate()
        follower.wait(30)
        follower.stdout.close()
    p50, p99 = delays[len(delays) // 2], delays[int(len(delays) * 0.99)]
    report.add(
        f"one change, write to first answer, {made.services:,} Services, p50 / p99",
        f"{p50 * 1e3:.1f} / {p99 * 1e3:.1f} ms",
        "goal 20 / 60 ms",
    )


def moves(made: Bed, service: str, answers: IO[str]) -> list[float]:
    names = [pod.name for pod in made.net.nodes[0].pods]

    async def work(client: Client) -> list[float]:
        delays = []
        for turn in range(CHANGES + 10):
            began = time.monotonic()
            await move(client, service, [made.backends[turn % 2]])
            while (line := answers.readline().split())[1] != names[turn % 2] or float(line[0]) < began:
                continue
            delays.append(float(line[0]) - began)
            await asyncio.sleep(0.03)
        await move(client, service, made.backends)
        return delays

    return made.call(work)


def connection(report: Report, made: Bed) -> None:
    virtual, direct = made.traffic(
        "times", "1000", f"{made.address(made.services - 1)}:80", f"{made.backends[0]}:{NAME_PORT}"
    )
    report.add(
        f"connection through the last of {made.services:,}, against direct",
        f"{virtual * 1e6:.0f} / {direct * 1e6:.0f} µs",
        f"{virtual / direct:.2f} times",
    )


def throughput(report: Report, made: Bed) -> None:
    address = "10.96.0.99"
    made.call(lambda client: publish(client, "sink", address, SINK_PORT, made.backends))
    made.wait_for(address)
    virtual, direct = (
        max(made.traffic("send", "2", target) for _ in range(3))
        for target in (f"{address}:80", f"{made.backends[0]}:{SINK_PORT}")
    )
    report.add(
        "throughput through a virtual IP, against direct",
        f"{virtual / 1e9:.2f} / {direct / 1e9:.2f} GB/s",
        f"{virtual / direct:.2f} times",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", default="nftables")
    mode = parser.parse_args().mode
    report = Report(f"proxy, mode {mode}")
    run(report, mode)
    print(report.text())


if __name__ == "__main__":
    main()
