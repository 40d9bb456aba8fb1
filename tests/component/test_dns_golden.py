"""The recorded answers of CoreDNS, replayed against our server over loopback, Corefile by Corefile.

Cases that the recording marks as deviations from the standards may be answered otherwise; all others hold.
"""

from __future__ import annotations

import asyncio
import importlib.util
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import uvloop

from tests.component.dns_support import GOLDEN, StaticCluster, fixtures, free_port, serving

COREFILES = sorted(path.name for path in (GOLDEN / "dns" / "corefiles").iterdir())
IN_NAMESPACE = "ns"
"""Needs a machine with just one address: is replayed within a network namespace."""


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"golden_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


replay: Any = module(GOLDEN / "replay_dns.py")


@pytest.fixture(scope="module")
def upstream() -> Iterator[int]:
    port = free_port()
    servers = module(GOLDEN / "dns" / "upstream.py").serve("127.0.0.1", port)
    yield port
    for server in servers:
        server.shutdown()
        server.server_close()


def filled(name: str, port: int, upstream: int) -> str:
    text = (GOLDEN / "dns" / "corefiles" / name).read_text()
    values = {"PORT": port, "UPSTREAM": upstream, "KUBECONFIG": "unused"}
    values |= {key: free_port() for key in ("READY", "HEALTH", "METRICS")}
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    return text


def differences(name: str, port: int) -> list[str]:
    """What differs from the recording, one line a case."""
    found = []
    for case in replay.read_cases(GOLDEN / "dns.jsonl", name):
        got = replay.observe(case["query"], "127.0.0.1", port)
        diffs = replay.compare(case, got, False, True)
        if diffs and not case.get("deviation"):
            found.append(f"{case['id']} {replay.describe(case['query'])}: {'; '.join(diffs)}")
    return found


async def replayed(name: str, upstream: int) -> list[str]:
    port = free_port()
    text, environ = filled(name, port, upstream), {"DNS_TTL": "17"}
    bind = () if name == IN_NAMESPACE else ("127.0.0.1",)
    async with serving(text, StaticCluster(fixtures()), port, environ, bind):
        return await asyncio.to_thread(differences, name, port)


@pytest.mark.parametrize("name", [name for name in COREFILES if name != IN_NAMESPACE])
def test_recorded_answers_hold(name: str, upstream: int) -> None:
    assert uvloop.run(replayed(name, upstream)) == []


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="makes a network namespace")
def test_recorded_answers_hold_where_the_server_is_behind_its_own_service() -> None:
    space = f"fwtest-dns-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", space], check=True)
    try:
        for command in (["link", "set", "lo", "up"], ["addr", "add", "10.244.0.53/32", "dev", "lo"]):
            subprocess.run(["ip", "-n", space, *command], check=True)
        inside = [sys.executable, "-m", "tests.component.test_dns_golden", IN_NAMESPACE]
        root = Path(__file__).parents[2]
        result = subprocess.run(
            ["ip", "netns", "exec", space, *inside], check=True, capture_output=True, cwd=root
        )
        assert json.loads(result.stdout) == []
    finally:
        subprocess.run(["ip", "netns", "delete", space], check=True)


def test_the_replay_can_fail() -> None:
    nobody = free_port()
    assert replay.replay(GOLDEN / "dns.jsonl", "127.0.0.1", nobody, "bufsize", out=io.StringIO()) == (0, 3)


def main() -> None:
    """Replays one Corefile in this process and prints what differs, as JSON."""
    port = free_port()
    servers = module(GOLDEN / "dns" / "upstream.py").serve("127.0.0.1", port)
    json.dump(uvloop.run(replayed(sys.argv[1], port)), sys.stdout)
    for server in servers:
        server.shutdown()


if __name__ == "__main__":
    main()
