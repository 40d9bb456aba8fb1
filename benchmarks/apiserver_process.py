"""An API server in a process and directory of its own, for measuring."""

from __future__ import annotations

import contextlib
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import memory

TOKEN = "benchmark"
FAIRWAY = str(Path(sys.executable).with_name("fairway"))


@dataclass
class Server:
    data: Path
    port: int
    process: subprocess.Popen[bytes]
    ready_after: float

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> str:
        return str(self.data / "kubeconfig")

    def memory(self) -> float:
        return memory(self.process.pid)


@contextlib.contextmanager
def api_server(port: int = 16443) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="fairway-bench.") as folder:
        data = Path(folder)
        tokens = data / "tokens.csv"
        tokens.write_text(f'{TOKEN},bench,1,"system:masters"\n')
        begin = time.perf_counter()
        process = subprocess.Popen(
            [FAIRWAY, "apiserver", "--data", folder, "--port", str(port), "--token-auth-file", str(tokens)],
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_ready(port)
            yield Server(data, port, process, time.perf_counter() - begin)
        finally:
            process.terminate()
            process.wait()


def wait_ready(port: int) -> None:
    context = ssl._create_unverified_context()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"https://127.0.0.1:{port}/readyz", context=context).read()
            return
        time.sleep(0.005)
    raise TimeoutError("the API server did not become ready")
