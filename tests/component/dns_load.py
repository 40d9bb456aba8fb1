"""How many questions a second the DNS server answers: `python tests/component/dns_load.py [SERVICES]
[SECONDS]`.

The server is a process of its own on loopback, with the usual Corefile but for forwarding; dnsperf asks.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop

from tests.component.dns_support import StaticCluster, free_port, serving

COREFILE = """\
.:{port} {{
    bind 127.0.0.1
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }}
    cache 30
    loadbalance
}}
"""


def service(number: int) -> list[dict[str, Any]]:
    """A Service with one named port and two endpoints."""
    high, low = divmod(number, 256)
    metadata = {"name": f"service-{number}", "namespace": "default"}
    address = f"10.96.{high}.{low}"
    piece = {**metadata, "labels": {"kubernetes.io/service-name": metadata["name"]}}
    return [
        {
            "kind": "Service",
            "metadata": metadata,
            "spec": {"clusterIP": address, "clusterIPs": [address], "ports": [{"name": "http", "port": 80}]},
        },
        {
            "kind": "EndpointSlice",
            "metadata": piece,
            "addressType": "IPv4",
            "ports": [{"name": "http", "port": 8080}],
            "endpoints": [{"addresses": [f"10.{net}.{high}.{low}"]} for net in (244, 245)],
        },
    ]


def headless(number: int, count: int = 4) -> list[dict[str, Any]]:
    objects = service(number)
    objects[0]["metadata"] = {"name": f"headless-{number}", "namespace": "default"}
    objects[0]["spec"]["clusterIP"] = "None"
    objects[1]["metadata"] = {
        "name": f"headless-{number}",
        "namespace": "default",
        "labels": {"kubernetes.io/service-name": f"headless-{number}"},
    }
    objects[1]["endpoints"] = [{"addresses": [f"10.246.{number % 256}.{i + 1}"]} for i in range(count)]
    return objects


def run_server(services: int, port: int, started: Any) -> None:
    async def main() -> None:
        objects = [obj for number in range(services) for obj in service(number)]
        objects += [obj for number in range(100) for obj in headless(number)]
        cluster = StaticCluster(objects)
        before = memory()
        begin = time.perf_counter()
        async with serving(COREFILE.format(port=port), cluster, port):
            seconds = time.perf_counter() - begin
            cluster.objects.clear()
            started.send((seconds, memory() - before))
            await asyncio.Event().wait()

    uvloop.run(main())


def memory() -> float:
    """Resident megabytes of this process."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


def processor_seconds(pid: int | None) -> float:
    """What a process has used so far; tells more than the rate where others use the machine, too."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def mixed_case(name: str) -> str:
    return "".join(random.choice((c.lower(), c.upper())) for c in name)


def questions(services: int) -> dict[str, tuple[Callable[[], str], list[str]]]:
    """What is asked: a question by chance, and options for dnsperf."""

    def name() -> str:
        return f"service-{random.randrange(services)}.default.svc.cluster.local"

    return {
        "hits (A)": (lambda: f"{name()} A", []),
        "headless (4 addresses)": (
            lambda: f"headless-{random.randrange(100)}.default.svc.cluster.local A",
            [],
        ),
        "AAAA (NODATA)": (lambda: f"{name()} AAAA", []),
        "SRV": (lambda: f"_http._tcp.{name()} SRV", []),
        "NXDOMAIN": (lambda: f"host-{random.randrange(10**6)}.example.com.default.svc.cluster.local A", []),
        "mixed case": (lambda: f"{mixed_case(name())} A", []),
        "EDNS": (lambda: f"{name()} A", ["-e"]),
        "EDNS with DO": (lambda: f"{name()} A", ["-D"]),
        "TXT, through the chain": (lambda: "dns-version.cluster.local TXT", []),
        "PTR": (lambda: f"{random.randrange(1, 30)}.1.96.10.in-addr.arpa PTR", []),
    }


def ask(port: int, seconds: int, make: Callable[[], str], options: list[str]) -> tuple[float, str]:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(make() + "\n" for _ in range(50_000)))
        file.flush()
        command = ["dnsperf", "-s", "127.0.0.1", "-p", str(port), "-d", file.name, "-l", str(seconds)]
        command += ["-c", "8", "-q", "200", *options]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rate = float(re.findall(r"Queries per second:\s+([\d.]+)", text)[0])
    lost = re.findall(r"Queries lost:\s+\d+ \(([\d.]+%)\)", text)[0]
    codes = re.findall(r"Response codes:\s+(.*)", text)[0]
    return rate, f"lost {lost}, {codes}"


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    services = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    port = free_port()
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=run_server, args=(services, port, there))
    process.start()
    took, megabytes = here.recv()
    say(f"{services} Services worked out in {took:.2f} s, {megabytes:.0f} MB more")
    try:
        for about, (make, options) in questions(services).items():
            before = processor_seconds(process.pid)
            rate, rest = ask(port, seconds, make, options)
            each = (processor_seconds(process.pid) - before) / (rate * seconds) * 1e6
            say(f"{about:24} {rate:9,.0f} q/s  {each:5.1f} us of processor time each   {rest}")
    finally:
        process.terminate()
        process.join()


if __name__ == "__main__":
    main()
