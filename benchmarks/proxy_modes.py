"""The proxy's modes side by side, in a namespace of their own: everything at once, and single changes."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

from benchmarks.report import Report
from fairway.kernel import namespaces
from fairway.proxy.changes import PortState
from fairway.proxy.model import Endpoint, Family, Protocol, ServicePort, ServicePortName
from fairway.proxy.modes import opened
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Pools

SIZES = (1_000, 10_000)
MODES = ("nftables", "iptables")
SETTINGS = Settings(cluster_cidrs=("10.244.0.0/16",), service_ranges=("10.96.0.0/16",))


def run(report: Report) -> None:
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root, for a network namespace of its own")
    for size in SIZES:
        for mode in MODES:
            name = f"fairway-bench-{os.getpid()}"
            path = namespaces.create(name)
            try:
                namespaces.run_inside(path, partial(measure, report, mode, size))
            finally:
                namespaces.delete(name)


def measure(report: Report, name: str, size: int) -> None:
    def say(what: str, seconds: float) -> None:
        report.add(f"{name}, {size:,} Services: {what}", f"{seconds * 1000:,.0f} ms")

    with opened(name, SETTINGS, "n1") as mode:
        everything = {f"default/s{i}": state(i) for i in range(size)}
        say("all from nothing", took(lambda: mode.synchronise(everything)))
        say("all again, nothing changed", took(lambda: mode.synchronise({})))
        say("one endpoint more", median(lambda i: mode.apply({"default/s5": state(5, 3 - i % 2)})))
        say("one Service more", median(lambda i: mode.apply({f"default/n{i}": state(size + i)})))
        say("one Service fewer", median(lambda i: mode.apply({f"default/n{i}": ()})))
        say("removing all", took(mode.remove))


def state(number: int, endpoints: int = 2) -> tuple[PortState, ...]:
    name = ServicePortName("default", f"s{number}", "http", Protocol.TCP, Family.IPV4)
    port = ServicePort(name, f"10.96.{number >> 8}.{number & 255}", 80)
    pods = tuple(Endpoint(f"10.{number >> 8}.{number & 255}.{i + 1}", 8080) for i in range(endpoints))
    return (PortState(port, Pools(pods, (), True), len(pods)),)


def took(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def median(work: Callable[[int], object], times: int = 7) -> float:
    return statistics.median(took(partial(work, i)) for i in range(times))
