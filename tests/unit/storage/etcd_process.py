"""A real etcd for tests, on loopback, in a directory of its own."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def etcd() -> Iterator[str]:
    """Gives `127.0.0.1:port`."""
    program = shutil.which("etcd")
    assert program, "etcd is not installed: tools/install-host-packages installs it"
    client, peer = free_port(), free_port()
    with tempfile.TemporaryDirectory(prefix="fairway-etcd.") as folder:
        address, peers = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        options = {
            "data-dir": folder,
            "listen-client-urls": address,
            "advertise-client-urls": address,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"default={peers}",
        }
        process = subprocess.Popen(
            [program, "--unsafe-no-fsync", *(f"--{name}={value}" for name, value in options.items())],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait(address)
            yield f"127.0.0.1:{client}"
        finally:
            process.kill()
            process.wait()


def _wait(address: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if b"true" in urllib.request.urlopen(f"{address}/health").read():
                return
        time.sleep(0.05)
    raise TimeoutError("etcd did not start")
