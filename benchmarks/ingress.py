"""The ingress: requests/s and latency against plain nginx with the same servers behind it, how soon a change
is routed, and memory with 1,000 Ingresses."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import uvloop

from benchmarks import processes
from benchmarks.apiserver_process import Server, api_server
from benchmarks.report import Report
from fairway.api.resources import ENDPOINT_SLICES, INGRESS_CLASSES, INGRESSES, SERVICES
from fairway.client import Client, KubeConfig

FAIRWAY = str(Path(sys.executable).with_name("fairway"))
# Many short rounds in turns: what else the machine does then falls on both alike.
ROUNDS, SECONDS = 9, 3
INGRESSES_WANTED = 1000
CHANGES = 30
SERVERS = (19181, 19182)
PLAIN, OURS, STATUS = 19180, 19190, 19199
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}

_SERVERS = """
daemon off; pid {folder}/servers.pid; error_log stderr error; worker_processes 1;
events {{ worker_connections 4096; }}
http {{
    access_log {log}; keepalive_requests 1000000;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    upstream both {{ {upstreams} keepalive 320; keepalive_requests 1000000; }}
    server {{ {listens} location / {{ return 200 "hello from behind\\n"; }} }}
    {plain}
}}
"""
_PLAIN = """
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://both; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;
        }}
    }}
"""


def run(report: Report) -> None:
    if shutil.which("wrk") is None or shutil.which("nginx") is None:
        sys.exit("this benchmark needs wrk and nginx: apt-get install wrk nginx-light")
    with servers() as plain, api_server(port=16450) as server, controller(server) as ours:
        uvloop.run(measure(server, report, plain, ours))


async def measure(server: Server, report: Report, plain_pid: int, our_pid: int) -> None:
    async with Client(KubeConfig.load(server.kubeconfig)) as client:
        await prepare(client)
        await create_ingress(client, "bench.test")
        await until_routed("bench.test")
        plain, ours = [], []
        for _ in range(ROUNDS):
            plain.append(wrk(PLAIN, plain_pid))
            ours.append(wrk(OURS, our_pid))
        rates, tails, times = (
            [statistics.median(run[figure] for run in runs) for runs in (plain, ours)] for figure in range(3)
        )
        report.add("requests/s through plain nginx, p99", f"{rates[0]:,.0f}/s, {tails[0]:.1f} ms")
        report.add("requests/s through the ingress, p99", f"{rates[1]:,.0f}/s, {tails[1]:.1f} ms")
        ratios = sorted(our[0] / other[0] for our, other in zip(ours, plain, strict=True))
        text = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        report.add(f"ingress against plain nginx, median of {ROUNDS} rounds", text, "goal 0.80")
        text = f"{times[0]:.1f} / {times[1]:.1f} µs"
        report.add("nginx's processor time for a request, plain / the ingress", text)
        delays = [await change_delay(client, number) for number in range(CHANGES)]
        text = f"{statistics.median(delays) * 1000:.0f} / {max(delays) * 1000:.0f} ms"
        report.add("API write to first routed request, median / worst", text, "goal 50 ms")
        await asyncio.gather(
            *(create_ingress(client, f"many-{number}.test") for number in range(INGRESSES_WANTED))
        )
        await until_routed(f"many-{INGRESSES_WANTED - 1}.test")
        text = f"{memory(our_pid):.0f} MB"
        report.add(f"memory with {INGRESSES_WANTED:,} Ingresses, nginx and controller", text)


@contextlib.contextmanager
def servers() -> Iterator[int]:
    """Two servers to send requests to, and a plain nginx in front of them, which is what we compare with.

    Gives the plain nginx's process.
    """
    with tempfile.TemporaryDirectory(prefix="fairway-bench.") as folder:
        os.chmod(folder, 0o755)  # noqa: S103
        processes = []
        for name, plain in (("servers", ""), ("plain", _PLAIN.format(port=PLAIN))):
            home = Path(folder) / name
            home.mkdir()
            listens = " ".join(f"listen {port};" for port in SERVERS)
            listens = "listen 127.0.0.1:19183;" if plain else listens
            upstreams = " ".join(f"server {own_address()}:{port};" for port in SERVERS)
            log = f"{home}/access.log combined buffer=64k" if plain else "off"
            text = _SERVERS.format(folder=home, log=log, listens=listens, upstreams=upstreams, plain=plain)
            (home / "nginx.conf").write_text(text)
            words = ["nginx", "-p", str(home), "-c", str(home / "nginx.conf")]
            processes.append(subprocess.Popen(words, stderr=subprocess.DEVNULL))
        try:
            for port in (*SERVERS, PLAIN):
                until_open(port)
            yield processes[-1].pid
        finally:
            for process in processes:
                process.terminate()
                process.wait()


@contextlib.contextmanager
def controller(server: Server) -> Iterator[int]:
    words = ["ingress", "--kubeconfig", server.kubeconfig, "--bind", "127.0.0.1", "--workers", "1"]
    ports = ["--http-port", str(OURS), "--https-port", str(OURS + 1), "--status-port", str(STATUS)]
    with subprocess.Popen([FAIRWAY, *words, *ports], stderr=subprocess.DEVNULL) as process:
        try:
            until_open(OURS)
            yield process.pid
        finally:
            process.terminate()


def until_open(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise RuntimeError(f"nothing listens on port {port}")


def wrk(port: int, pid: int) -> tuple[float, float, float]:
    """Requests a second, the 99th percentile in milliseconds, microseconds of nginx for a request."""
    words = ["wrk", "-t1", "-c32", f"-d{SECONDS}", "--latency", "-H", "Host: bench.test"]
    words.append(f"http://127.0.0.1:{port}/")
    before = nginx_seconds(pid)
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    spent = nginx_seconds(pid) - before
    rate = re.search(r"Requests/sec:\s+([\d.]+)", told)
    tail = re.search(r"99%\s+([\d.]+)(us|ms|s)", told)
    done = re.search(r"(\d+) requests in", told)
    if not rate or not tail or not done or "Non-2xx" in told:
        raise RuntimeError(told)
    return float(rate[1]), float(tail[1]) * UNITS[tail[2]], spent / int(done[1]) * 1e6


def nginx_seconds(pid: int) -> float:
    """Processor time of all nginx processes there are under one."""
    return sum(processes.used(each) for each in processes.family(pid) if processes.name(each) == "nginx")


async def prepare(client: Client) -> None:
    made = {"metadata": {"name": "fairway"}, "spec": {"controller": "fairway.dev/ingress"}}
    await client.create(INGRESS_CLASSES, made)
    service = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    await client.create(SERVICES, service, namespace="default")
    for port in SERVERS:
        await client.create(
            ENDPOINT_SLICES,
            {
                "metadata": {"name": f"web-{port}", "labels": {"kubernetes.io/service-name": "web"}},
                "addressType": "IPv4",
                "ports": [{"name": "", "port": port}],
                "endpoints": [{"addresses": [own_address()]}],
            },
            namespace="default",
        )


def own_address() -> str:
    """One of this machine's own, as the API takes no loopback address; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])


async def create_ingress(client: Client, host: str) -> None:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    spec = {"ingressClassName": "fairway", "rules": [{"host": host, "http": {"paths": paths}}]}
    made = {"metadata": {"name": host}, "spec": spec}
    await client.create(INGRESSES, made, namespace="default")


async def until_routed(host: str) -> None:
    while not await asyncio.to_thread(is_routed, host):  # noqa: ASYNC110
        await asyncio.sleep(0.002)


def is_routed(host: str) -> bool:
    request = urllib.request.Request(f"http://127.0.0.1:{OURS}/", headers={"Host": host})
    try:
        with urllib.request.urlopen(request) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError:
        return False


async def change_delay(client: Client, number: int) -> float:
    begin = time.perf_counter()
    await create_ingress(client, f"change-{number}.test")
    await until_routed(f"change-{number}.test")
    return time.perf_counter() - begin


def memory(pid: int) -> float:
    """Megabytes (PSS) of the controller and all it started."""
    return sum(map(processes.memory, processes.family(pid)))
