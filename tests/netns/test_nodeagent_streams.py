"""exec, attach, cp, run and port-forward with real kubectls: today's over WebSocket, Debian's over SPDY."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fairway.api.resources import PODS, SERVICES
from fairway.client import Client
from tests.conformance import kubectl_versions
from tests.netns.agent_under_test import HOSTNAMES, Cluster, create, kubectl, pod_when
from tests.netns.node_under_test import http_get

SLEEPER = {"name": "main", "image": "busybox", "command": ["sleep", "1000"]}


@pytest.fixture(params=["current", "old"])
def program(request: pytest.FixtureRequest) -> str:
    """A kubectl: the one on PATH, or Debian's 1.20, which knows only SPDY."""
    found = kubectl_versions.current() if request.param == "current" else kubectl_versions.old()
    if found is None:
        pytest.skip("this kubectl can't be had here")
    return found


async def test_exec_keeps_streams_apart_and_passes_input_and_exact_exit_codes(
    cluster: Cluster, client: Client, program: str
) -> None:
    await create(client, "web", SLEEPER)
    await pod_when(client, "web", "Ready")
    script = "cat; echo problem >&2; exit 7"
    code, output, errors = await kubectl(
        cluster, "exec", "-i", "web", "--", "sh", "-c", script, text=b"hello\n", program=program
    )
    assert (code, output) == (7, b"hello\n")
    assert errors.startswith(b"problem\n")
    for expected in (0, 1, 126, 255):
        code, _, _ = await kubectl(
            cluster, "exec", "web", "--", "sh", "-c", f"exit {expected}", program=program
        )
        assert code == expected
    large = os.urandom(3_000_000)
    code, output, _ = await kubectl(cluster, "exec", "-i", "web", "--", "cat", text=large, program=program)
    assert (code, output == large) == (0, True)
    # The command ends while much input is still on its way: that must not cost the answer.
    code, output, _ = await kubectl(
        cluster, "exec", "-i", "web", "--", "head", "-c", "5", text=b"x" * 2_000_000, program=program
    )
    assert (code, output) == (0, b"xxxxx")


async def test_files_and_folders_are_copied_both_ways(
    cluster: Cluster, client: Client, program: str, tmp_path: Path
) -> None:
    await create(client, "web", SLEEPER)
    await pod_when(client, "web", "Ready")
    original = tmp_path / "folder"
    original.mkdir()
    (original / "data").write_bytes(os.urandom(500_000))
    code, _, errors = await kubectl(cluster, "cp", str(original), "web:/tmp/copy", program=program)
    assert code == 0, errors
    code, _, errors = await kubectl(cluster, "cp", "web:/tmp/copy", str(tmp_path / "back"), program=program)
    assert code == 0, errors
    assert (tmp_path / "back" / "data").read_bytes() == (original / "data").read_bytes()


# ---- terminals -------------------------------------------------------------------------------------------


class Screen:
    """A kubectl with a terminal of its own."""

    def __init__(self, cluster: Cluster, program: str, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        os.set_blocking(self._ours, False)
        self.resize(91, 31)
        command = ["setsid", "--ctty", program, "--kubeconfig", str(cluster.kubeconfig), *words]
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.shown = ""

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    async def shows(self, pattern: str) -> str:
        """Until what has appeared since the last call matches; returns what came before the match."""
        for _ in range(3000):
            if found := re.search(pattern, self.shown):
                before, self.shown = self.shown[: found.start()], self.shown[found.end() :]
                return before
            if select.select([self._ours], [], [], 0)[0]:
                try:
                    self.shown += os.read(self._ours, 65536).decode(errors="replace")
                except OSError:
                    break
            await asyncio.sleep(0.01)
        raise AssertionError(f"never saw {pattern!r} in {self.shown!r}")

    async def has_size(self, size: str) -> None:
        """Asked of the shell inside again and again: it may be quicker than the news of a size."""
        for _ in range(100):
            self.type("stty size; echo do''ne\n")
            if size in await self.shows("done\r+\n"):
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"the size {size} never arrived")

    async def ended(self) -> int:
        return await asyncio.to_thread(self.process.wait, 60)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


async def test_a_terminal_has_its_size_follows_it_and_gives_the_exit_code(
    cluster: Cluster, client: Client, program: str
) -> None:
    await create(client, "web", SLEEPER)
    await pod_when(client, "web", "Ready")
    screen = Screen(cluster, program, "exec", "-it", "web", "--", "sh")
    try:
        screen.type("echo ter''minal\n")
        # On a busy machine the shell may have begun before runc takes its terminal's translation away: lines
        # then end with two carriage returns.
        await screen.shows("terminal\r+\n")
        await screen.has_size("31 91")
        screen.resize(120, 40)
        await screen.has_size("40 120")
        screen.type("exit 5\n")
        assert await screen.ended() == 5
    finally:
        screen.close()


async def test_run_with_a_terminal_talks_to_the_container_and_takes_it_away(
    cluster: Cluster, client: Client, program: str
) -> None:
    overrides = '{"apiVersion":"v1","spec":{"nodeName":"node-1"}}'
    options = ["--rm", "-it", "--image=busybox", "--restart=Never", "--overrides", overrides]
    screen = Screen(cluster, program, "run", "shell", *options, "--", "sh")
    try:
        await screen.shows("press")
        screen.type("tty; stty size\n")
        await screen.shows("/dev/")
        await screen.shows("31 91")
        screen.type("exit 3\n")
        await screen.shows('pod "shell" deleted')
        assert await screen.ended() == 3
    finally:
        screen.close()


# ---- attach ----------------------------------------------------------------------------------------------


async def test_attach_sees_output_from_then_on_and_ends_input_once(
    cluster: Cluster, client: Client, program: str
) -> None:
    script = "echo early; while read line; do echo got $line; echo bad $line >&2; done; echo end"
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", script]}
    await create(client, "cat", container | {"stdin": True, "stdinOnce": True}, restartPolicy="Never")
    await pod_when(client, "cat", "Ready")
    code, output, errors = await kubectl(cluster, "attach", "-i", "cat", text=b"one\ntwo\n", program=program)
    assert code == 0, errors
    assert output == b"got one\ngot two\nend\n"
    assert b"bad one\nbad two\n" in errors
    _, output, _ = await kubectl(cluster, "logs", "cat", program=program)
    assert b"early\n" in output
    assert b"bad two\n" in output


async def test_a_container_with_open_input_takes_it_from_one_client_after_the_other(
    cluster: Cluster, client: Client
) -> None:
    script = "while read line; do echo got $line; [ $line = stop ] && exit; done"
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", script], "stdin": True}
    await create(client, "cat", container, restartPolicy="Never")
    await pod_when(client, "cat", "Ready")
    first = await asyncio.create_subprocess_exec(
        *("kubectl", "--kubeconfig", str(cluster.kubeconfig), "attach", "-i", "cat"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert first.stdin
    assert first.stdout
    first.stdin.write(b"one\n")
    assert await asyncio.wait_for(first.stdout.readline(), 30) == b"got one\n"
    first.kill()
    await first.communicate()
    code, output, errors = await kubectl(cluster, "attach", "-i", "cat", text=b"two\nstop\n")
    assert (code, output) == (0, b"got two\ngot stop\n"), errors


async def test_much_output_reaches_a_slow_listener_whole(cluster: Cluster, client: Client) -> None:
    script = "read go; i=0; while [ $i -lt 40000 ]; do echo line $i of many; i=$((i+1)); done"
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", script]}
    await create(client, "talk", container | {"stdin": True, "stdinOnce": True}, restartPolicy="Never")
    await pod_when(client, "talk", "Ready")
    code, output, _ = await kubectl(cluster, "attach", "-i", "talk", text=b"go\n")
    assert code == 0
    assert output.splitlines() == [b"line %d of many" % number for number in range(40000)]


# ---- port-forward ----------------------------------------------------------------------------------------


@asynccontextmanager
async def forwarding(cluster: Cluster, program: str, *words: str) -> AsyncIterator[int]:
    """A port on the loopback that leads into the Pod."""
    process = await asyncio.create_subprocess_exec(
        *(program, "--kubeconfig", str(cluster.kubeconfig), "port-forward", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        assert process.stdout
        line = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
        found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+)", line)
        assert found, line
        yield int(found[1])
    finally:
        process.kill()
        await process.communicate()


ECHO = {
    "name": "main",
    "image": "busybox",
    "command": ["nc", "-ll", "-p", "7000", "-e", "cat"],
}


async def exchange(port: int, data: bytes) -> bytes:
    """Send it all, end our side, read to the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def send() -> None:
        writer.write(data)
        await writer.drain()
        writer.write_eof()

    sending = asyncio.create_task(send())
    answer = await asyncio.wait_for(reader.read(), 60)
    await sending
    writer.close()
    return answer


LOOPBACK_ONLY = {
    "name": "main",
    "image": "busybox",
    "command": ["sh", "-c", "echo local > /tmp/index.html; exec httpd -f -p 127.0.0.1:9376 -h /tmp"],
}


async def test_ports_are_forwarded_into_pods_loopback_included(
    cluster: Cluster, client: Client, program: str
) -> None:
    await create(client, "web", LOOPBACK_ONLY)
    await create(client, "echo", ECHO)
    await pod_when(client, "web", "Ready")
    await pod_when(client, "echo", "Ready")
    async with forwarding(cluster, program, "pod/web", ":9376") as port:
        answers = await asyncio.gather(*(http_get("127.0.0.1", port) for _ in range(10)))
        assert answers == ["local\n"] * 10
    async with forwarding(cluster, program, "pod/echo", ":7000") as port:
        large = os.urandom(2_000_000)
        assert await exchange(port, large) == large
        assert await exchange(port, b"again") == b"again"


async def test_ports_are_forwarded_to_a_service_by_one_of_its_pods(
    cluster: Cluster, client: Client, program: str
) -> None:
    container = HOSTNAMES | {"ports": [{"name": "http", "containerPort": 9376}]}
    body: dict[str, Any] = {
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"nodeName": "node-1", "containers": [container]},
    }
    await client.create(PODS, body, namespace="default")
    service = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]}
    await client.create(SERVICES, {"metadata": {"name": "web"}, "spec": service}, namespace="default")
    await pod_when(client, "web", "Ready")
    async with forwarding(cluster, program, "service/web", ":80") as port:
        assert await http_get("127.0.0.1", port) == "web\n"


async def test_a_port_where_nothing_listens_says_so(cluster: Cluster, client: Client, program: str) -> None:
    await create(client, "web", SLEEPER)
    await pod_when(client, "web", "Ready")
    process = await asyncio.create_subprocess_exec(
        *(program, "--kubeconfig", str(cluster.kubeconfig), "port-forward", "pod/web", ":81"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout
        assert process.stderr
        line = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
        port = int(line.split("127.0.0.1:")[1].split(" ")[0])
        assert await exchange(port, b"") == b""
        complaint = await asyncio.wait_for(process.stderr.readline(), 30)
        assert b"error forwarding port 81 to pod default/web" in complaint
        assert b"refused" in complaint
    finally:
        process.kill()
        await process.communicate()


async def test_client_libraries_forward_ports_by_channels(cluster: Cluster, client: Client) -> None:
    await create(client, "web", LOOPBACK_ONLY)
    await pod_when(client, "web", "Ready")
    path = PODS.path("default", "web", "portforward")
    params = [("ports", "9376"), ("ports", "81")]
    async with client.websocket(path, params=params, protocol="v4.channel.k8s.io") as socket:
        first = [await socket.receive() for _ in range(4)]
        assert first == [
            bytes([channel]) + port for channel, port in enumerate([b"\xa0$"] * 2 + [b"Q\0"] * 2)
        ]
        complaint = await socket.receive()
        assert complaint
        assert complaint.startswith(b"\x03error forwarding port 81")
        await socket.send(b"\0GET / HTTP/1.0\r\n\r\n")
        answer = b""
        while not answer.endswith(b"local\n"):
            message = await socket.receive()
            assert message, answer
            answer += message.removeprefix(b"\0")
