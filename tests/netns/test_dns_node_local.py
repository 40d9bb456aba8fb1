"""The node's own DNS server at a link-local address, in a real network namespace with a Pod beside it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ADDRESS = "169.254.20.10"
COREFILE = """\
.:53 {
    hosts /dev/null {
        192.0.2.9 pinned.example
        fallthrough
    }
}
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


class Node:
    """A namespace for the node and one for a Pod, joined by a pair of devices."""

    def __init__(self) -> None:
        self.name, self.pod = f"fwtest-dn-{os.getpid()}", f"fwtest-dp-{os.getpid()}"

    def make(self) -> None:
        for name in (self.name, self.pod):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", self.name, "link", "add", "pod", "type", "veth", "peer", "name", "eth0", "netns", self.pod)
        ip("-n", self.name, "addr", "add", "10.244.9.1/24", "dev", "pod")
        ip("-n", self.pod, "addr", "add", "10.244.9.2/24", "dev", "eth0")
        ip("-n", self.name, "link", "set", "pod", "up")
        ip("-n", self.pod, "link", "set", "eth0", "up")
        ip("-n", self.pod, "route", "add", "default", "via", "10.244.9.1")
        # A rule that looks at connections makes the kernel track them in this namespace.
        self.run("nft", "add table ip look; add chain ip look c { type filter hook input priority 0; }")
        self.run("nft", "add rule ip look c ct state established counter")

    def remove(self) -> None:
        for name in (self.pod, self.name):
            subprocess.run(["ip", "netns", "delete", name], check=False)

    def run(self, *command: str, pod: bool = False, check: bool = True) -> str:
        inside = ["ip", "netns", "exec", self.pod if pod else self.name, *command]
        return subprocess.run(inside, check=check, capture_output=True, text=True).stdout

    def tracked(self) -> str:
        return self.run("conntrack", "-L", check=False)


@pytest.fixture
def node() -> Iterator[Node]:
    made = Node()
    try:
        made.make()
        yield made
    finally:
        made.remove()


def start(node: Node, conf: Path) -> subprocess.Popen[bytes]:
    fairway = str(Path(sys.executable).parent / "fairway")
    command = ["ip", "netns", "exec", node.name, fairway, "dns", "--conf", str(conf), "--node-local", ADDRESS]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def answered(node: Node, *options: str, pod: bool = True) -> str:
    """What dig shows once the server answers."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        words = ["dig", "+short", "+tries=1", "+time=2", *options, f"@{ADDRESS}", "pinned.example"]
        if (text := node.run(*words, pod=pod, check=False).strip()) == "192.0.2.9":
            return text
        time.sleep(0.1)
    return ""


def test_pods_and_the_node_ask_a_link_local_address_and_no_question_is_tracked(
    node: Node, tmp_path: Path
) -> None:
    conf = tmp_path / "Corefile"
    conf.write_text(COREFILE)
    server = start(node, conf)
    try:
        for pod in (True, False):
            assert answered(node, pod=pod)
            assert answered(node, "+tcp", pod=pod)
        # That tracking works at all shows in another conversation.
        node.run("dig", "+tries=1", "+time=1", "-p", "5353", "@10.244.9.1", "other", pod=True, check=False)
        assert "dport=5353" in node.tracked()
        assert "dport=53 " not in node.tracked()
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    finally:
        server.kill()
        server.wait()
    assert ADDRESS not in node.run("ip", "addr")
    assert "fairway-dns" not in node.run("ip", "link")
    assert "fairway-dns" not in node.run("nft", "list", "tables")


def test_what_a_killed_server_left_behind_is_taken_over(node: Node, tmp_path: Path) -> None:
    conf = tmp_path / "Corefile"
    conf.write_text(COREFILE)
    for final in (signal.SIGKILL, signal.SIGTERM):
        server = start(node, conf)
        try:
            assert answered(node)
        finally:
            server.send_signal(final)
            server.wait(60)
    assert "fairway-dns" not in node.run("ip", "link")
