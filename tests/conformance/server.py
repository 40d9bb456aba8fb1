"""A `fairway apiserver` in a process and directory of its own, for tests that talk to it from outside.

Only starting, stopping, killing and looking at the process belong here; what is asked of it is for tests.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

TOKEN = "conformance"
FAIRWAY = str(Path(sys.executable).with_name("fairway"))
START_SECONDS = 30.0
LOG_LINES_SHOWN = 60


class ApiServer:
    """Can be killed and started again over the same data and port."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "apiserver.log"
        self.port = unused_port()
        self.process: subprocess.Popen[bytes] | None = None
        self._flags = flags
        self._tokens = folder / "tokens.csv"
        self._tokens.write_text(f'{TOKEN},tester,7,"system:masters"\n')

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's, with a client certificate."""
        return self.data / "kubeconfig"

    def start(self) -> None:
        """Returns once it answers /readyz."""
        command = [FAIRWAY, "apiserver", "--data", str(self.data), "--port", str(self.port)]
        command += ["--token-auth-file", str(self._tokens), *self._flags]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the API server did not become ready:\n{self.log_tail()}")
            time.sleep(0.01)

    def _is_ready(self) -> bool:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{self.url}/readyz", context=unverified(), timeout=5).close()
            return self.kubeconfig.exists()
        return False

    def kill(self) -> None:
        """As a power cut would: no chance to tidy up."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def stop(self) -> int:
        """As init would; gives the exit status."""
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def log_tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:])

    def megabytes(self) -> float:
        """Resident memory."""
        assert self.process
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)
        assert found
        return int(found[1]) / 1024

    def processor_seconds(self) -> float:
        """How long it has kept processors busy, all told."""
        assert self.process
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def write_status(self, path: str, status: dict[str, Any]) -> None:
        """What a controller would find out."""
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/merge-patch+json"}
        body = json.dumps({"status": status}).encode()
        request = urllib.request.Request(f"{self.url}{path}/status", body, headers, method="PATCH")
        urllib.request.urlopen(request, context=unverified(), timeout=10).close()

    def settings(self) -> dict[str, Any]:
        """The cluster part of the administrator's kubeconfig."""
        cluster = yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]
        assert isinstance(cluster, dict)
        return cluster

    def tls(self) -> ssl.SSLContext:
        """Believes the server's own authority; presents no certificate, for use with the token."""
        authority = base64.b64decode(self.settings()["certificate-authority-data"])
        return ssl.create_default_context(cadata=authority.decode())


@cache
def unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def unused_port() -> int:
    """Below the range that outgoing connections are given, so that it is still free after a restart."""
    choice = random.Random(os.urandom(8))
    while True:
        port = choice.randrange(20000, 30000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def api_server(folder: Path, *flags: str) -> Iterator[ApiServer]:
    server = ApiServer(folder, *flags)
    try:
        server.start()
        yield server
        assert server.process
        assert server.process.poll() is None, f"the API server ended by itself:\n{server.log_tail()}"
    finally:
        server.kill()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Shows the end of the log of every server that a failed test used; conftest files import this."""
    report: pytest.TestReport = yield
    if report.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            server = getattr(value, "api_server", value)
            if isinstance(server, ApiServer):
                report.sections.append((f"log of {name}", server.log_tail()))
    return report
