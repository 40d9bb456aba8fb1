"""The servers the DNS benchmark compares, each a process of its own: `fairway dns` and knot.

Both serve the same names on loopback and are allowed one core's worth of threads for answering.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import processes
from benchmarks.dns_questions import (
    ENDPOINTS,
    HEADLESS,
    OUTSIDE,
    SERVICES,
    ZONE,
    headless_name,
    outside_name,
    service_name,
)

FAIRWAY = str(Path(sys.executable).with_name("fairway"))
_COREFILE = """\
.:{port} {{
    bind 127.0.0.1
    errors
    ready 127.0.0.1:{pages}
    kubernetes {zone} in-addr.arpa ip6.arpa {{
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }}
    prometheus 127.0.0.1:{pages}
    forward . 127.0.0.1:{upstream}
    cache 30
    loadbalance
}}
"""
_KNOT = """\
server:
    listen: 127.0.0.1@{port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
    rundir: {folder}
log:
  - target: stderr
    any: error
database:
    storage: {folder}
zone:
  - domain: {zone}
    file: {folder}/cluster.zone
    zonefile-sync: -1
  - domain: example.test
    file: {folder}/outside.zone
    zonefile-sync: -1
"""
_SOA = "@ 30 SOA ns.dns hostmaster 1 7200 1800 86400 30\n@ 30 NS ns.dns\nns.dns 30 A 127.0.0.1\n"


@dataclass(frozen=True)
class Server:
    name: str
    port: int
    pid: int
    ready_after: float

    def processor_seconds(self) -> float:
        return processes.used(self.pid)

    def memory(self, what: str) -> float:
        return processes.memory(self.pid, what)


def cluster_ip(number: int) -> str:
    return f"10.96.{number // 200 + 1}.{number % 200 + 1}"


def endpoint_address(number: int, seat: int) -> str:
    return f"10.{100 + seat}.{number // 200}.{number % 200 + 1}"


@contextlib.contextmanager
def knot(folder: Path) -> Iterator[Server]:
    port = free_port()
    folder.mkdir()
    (folder / "cluster.zone").write_text(f"$ORIGIN {ZONE}.\n{_SOA}" + "".join(_cluster_records()))
    outside = "".join(f"{outside_name(n)}. 300 A 192.0.2.{n % 250 + 1}\n" for n in range(OUTSIDE))
    (folder / "outside.zone").write_text(f"$ORIGIN example.test.\n{_SOA}{outside}")
    (folder / "knot.conf").write_text(_KNOT.format(port=port, folder=folder, zone=ZONE))
    begin = time.perf_counter()
    with process(["knotd", "-c", str(folder / "knot.conf")]) as pid:
        wait_for_answer(port, f"{service_name(0)}.default.svc.{ZONE}")
        yield Server("knot", port, pid, time.perf_counter() - begin)


def _cluster_records() -> Iterator[str]:
    for number in range(SERVICES):
        name = f"{service_name(number)}.default.svc"
        yield f"{name} 30 A {cluster_ip(number)}\n_http._tcp.{name} 30 SRV 0 100 80 {name}\n"
    for number in range(HEADLESS):
        for seat in range(ENDPOINTS):
            yield f"{headless_name(number)}.default.svc 30 A {endpoint_address(number, seat)}\n"


@contextlib.contextmanager
def fairway(folder: Path, kubeconfig: str, upstream: int) -> Iterator[Server]:
    port, pages = free_port(), free_port()
    folder.mkdir()
    conf = folder / "Corefile"
    conf.write_text(_COREFILE.format(port=port, pages=pages, upstream=upstream, zone=ZONE))
    begin = time.perf_counter()
    with process([FAIRWAY, "dns", "--kubeconfig", kubeconfig, "--conf", str(conf)]) as pid:
        wait_until(lambda: _ready(pages))
        yield Server("fairway", port, pid, time.perf_counter() - begin)


def _ready(pages: int) -> bool:
    with contextlib.suppress(OSError):
        return bool(urllib.request.urlopen(f"http://127.0.0.1:{pages}/ready", timeout=1).read() == b"OK")
    return False


@contextlib.contextmanager
def process(command: list[str]) -> Iterator[int]:
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield running.pid
    finally:
        running.terminate()
        running.wait()


def wait_for_answer(port: int, name: str) -> None:
    labels = b"".join(bytes((len(label),)) + label.encode() for label in name.split("."))
    query = b"\0\x07\x01\0\0\x01\0\0\0\0\0\0" + labels + b"\0\0\x01\0\x01"

    def answered() -> bool:
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(0.2)
            sock.connect(("127.0.0.1", port))
            sock.send(query)
            return not sock.recv(512)[3] & 15
        return False

    wait_until(answered)


def wait_until(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("a server did not become ready")
        time.sleep(0.005)


def free_port() -> int:
    with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        port = int(tcp.getsockname()[1])
        udp.bind(("127.0.0.1", port))
        return port
