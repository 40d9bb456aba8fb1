"""The reaper: one small process a node that outlives the node agent and is the parent of all containers.

It starts `runc run --detach`, adopts the container that leaves behind (as subreaper), writes what the
container prints as CRI log lines, and its exit code to a file. It runs as a plain script with the standard
library only (`python -I -S reaper.py FOLDER`), to stay small; it knows nothing of Pods and decides nothing.

In a container's folder it writes `process.json`, `exit.json` and `log`, the first two atomically. Output
goes through FIFOs that the container holds open both ways: should the reaper die, writers block instead
of being killed, and the next reaper reads on.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import selectors
import signal
import socket
import sys
import time
from typing import Any

SOCKET = "reaper.sock"
RUNC_FAILED = "runc failed"
IDLE_SECONDS = 5.0
READ_SIZE = 65536
LONGEST_LINE = 16384
LOG_LIMIT = 10 * 1024 * 1024
PR_SET_CHILD_SUBREAPER = 36


def write_atomically(path: str, content: dict[str, Any]) -> None:
    with open(path + ".new", "w") as file:
        json.dump(content, file)
    os.replace(path + ".new", path)


def start_time(pid: int) -> int:
    """When a process began, in clock ticks since boot: with the pid it names one process for ever."""
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def timestamp(nanoseconds: int) -> bytes:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return (time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(seconds)) + f"{rest:09d}Z").encode()


class Lines:
    """Cuts one output stream into log lines; `P` marks a piece whose line goes on, `F` a full line."""

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.rest = b""

    def feed(self, data: bytes, stamp: bytes) -> bytes:
        *full, self.rest = (self.rest + data).split(b"\n")
        lines = [self._line(line, b"F", stamp) for line in full]
        while len(self.rest) > LONGEST_LINE:
            lines.append(self._line(self.rest[:LONGEST_LINE], b"P", stamp))
            self.rest = self.rest[LONGEST_LINE:]
        return b"".join(lines)

    def finish(self, stamp: bytes) -> bytes:
        rest, self.rest = self.rest, b""
        return self._line(rest, b"P", stamp) if rest else b""

    def _line(self, text: bytes, tag: bytes, stamp: bytes) -> bytes:
        return b"%b %b %b %b\n" % (stamp, self.name, tag, text)


class Log:
    """A log file that moves aside when it grows large; the one before the last is dropped."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.open()

    def open(self) -> None:
        self.file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        self.size = os.fstat(self.file).st_size

    def write(self, lines: bytes) -> None:
        if not lines:
            return
        if self.size > LOG_LIMIT:
            os.close(self.file)
            os.replace(self.path, self.path + ".1")
            self.open()
        self.size += os.write(self.file, lines)

    def close(self) -> None:
        os.close(self.file)


class Container:
    """The output of one container, being copied; and its process, once runc has made it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.pid = 0
        self.log = Log(os.path.join(folder, "log"))
        self.streams: dict[int, Lines] = {}

    def open_output(self) -> None:
        for name in ("stdout", "stderr"):
            path = os.path.join(self.folder, name)
            if not os.path.exists(path):
                os.mkfifo(path, 0o600)
            reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            self.streams[reader] = Lines(name.encode())

    def open_writers(self) -> list[int]:
        """Ends for the container itself. Read and write: that way it never sees a broken pipe."""
        paths = [os.path.join(self.folder, name) for name in ("stdout", "stderr")]
        return [os.open(path, os.O_RDWR | os.O_CLOEXEC) for path in paths]

    def copy(self, reader: int) -> bool:
        """Copy what one stream has to offer; False at its end."""
        try:
            data = os.read(reader, READ_SIZE)
        except BlockingIOError:
            return True
        stamp = timestamp(time.time_ns())
        lines = self.streams[reader]
        self.log.write(lines.feed(data, stamp) if data else lines.finish(stamp))
        return bool(data)

    def drain(self) -> None:
        for reader in self.streams:
            while fionread(reader):
                self.copy(reader)

    def ended(self, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        exit_code, number = (128 - code, -code) if code < 0 else (code, 0)
        content = {"exitCode": exit_code, "signal": number, "finishedAt": time.time()}
        write_atomically(os.path.join(self.folder, "exit.json"), content)


def fionread(descriptor: int) -> int:
    waiting = bytearray(4)
    fcntl.ioctl(descriptor, 0x541B, waiting)
    return int.from_bytes(waiting, sys.byteorder)


class Reaper:
    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.clients: set[socket.socket] = set()
        self.starting: dict[int, tuple[Container, socket.socket]] = {}
        self.running: dict[int, Container] = {}
        # Containers may end, and be reaped, before their runc is: their status waits here meanwhile.
        self.unclaimed: dict[int, int] = {}
        self.copied: set[str] = set()
        self.settling: list[socket.socket] = []
        self.idle_since = time.monotonic()

    def serve(self, listener: socket.socket, wakeup: int) -> None:
        self.selector.register(listener, selectors.EVENT_READ, self.accept)
        self.selector.register(wakeup, selectors.EVENT_READ, self.woken)
        while not self.idle():
            for key, _ in self.selector.select(IDLE_SECONDS):
                key.data(key.fileobj)
            self.reap()

    def idle(self) -> bool:
        if self.clients or self.starting or self.running or self.copied:
            self.idle_since = time.monotonic()
        return time.monotonic() - self.idle_since > IDLE_SECONDS

    def woken(self, wakeup: int) -> None:
        os.read(wakeup, 4096)

    # -- requests --------------------------------------------------------------------------------------

    def accept(self, listener: socket.socket) -> None:
        client, _ = listener.accept()
        self.clients.add(client)
        self.selector.register(client, selectors.EVENT_READ, self.receive)

    def receive(self, client: socket.socket) -> None:
        """One request a connection, in one message; a connection that only stays open keeps us alive."""
        try:
            data = client.recv(READ_SIZE)
        except ConnectionError:
            data = b""
        if not data:
            self.forget(client)
            return
        try:
            self.handle(json.loads(data), client)
        except (OSError, ValueError, KeyError) as error:
            self.answer(client, {"error": f"{type(error).__name__}: {error}"})

    def handle(self, request: dict[str, Any], client: socket.socket) -> None:
        if request["do"] == "run":
            self.run(request["folder"], request["argv"], client)
        elif request["do"] == "adopt":
            self.adopt(request["folder"], request["pid"])
            self.answer(client, {})
        elif request["do"] == "settle":
            self.settling.append(client)
            self.settle()

    def run(self, folder: str, argv: list[str], client: socket.socket) -> None:
        container = Container(folder)
        container.open_output()
        writers = container.open_writers()
        try:
            pid = spawn(argv, *writers)
        finally:
            for writer in writers:
                os.close(writer)
        self.watch_output(container)
        self.starting[pid] = (container, client)

    def adopt(self, folder: str, pid: int) -> None:
        """Go on copying the output of a container that an earlier reaper started."""
        if folder not in self.copied:
            container = Container(folder)
            container.pid = pid
            container.open_output()
            self.watch_output(container)

    def answer(self, client: socket.socket, content: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            client.sendall(json.dumps(content).encode())
        self.forget(client)

    def forget(self, client: socket.socket) -> None:
        if client in self.clients:
            self.clients.discard(client)
            self.selector.unregister(client)
            client.close()

    def settle(self) -> None:
        """Answer those who wait until no container is half made."""
        while self.settling and not self.starting:
            self.answer(self.settling.pop(), {})

    # -- output ----------------------------------------------------------------------------------------

    def watch_output(self, container: Container) -> None:
        def copy(reader: int) -> None:
            if not container.copy(reader):
                self.unwatch(container, reader)

        self.copied.add(container.folder)
        for reader in container.streams:
            self.selector.register(reader, selectors.EVENT_READ, copy)

    def unwatch(self, container: Container, reader: int) -> None:
        self.selector.unregister(reader)
        os.close(reader)
        del container.streams[reader]
        if not container.streams:
            container.log.close()
            self.copied.discard(container.folder)

    def end_output(self, container: Container) -> None:
        container.drain()
        for reader in list(container.streams):
            container.log.write(container.streams[reader].finish(timestamp(time.time_ns())))
            self.unwatch(container, reader)

    # -- processes -------------------------------------------------------------------------------------

    def reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.reaped(pid, status)

    def reaped(self, pid: int, status: int) -> None:
        if pid in self.starting:
            self.runc_ended(*self.starting.pop(pid), status)
            if not self.starting:
                self.unclaimed.clear()
            self.settle()
        elif pid in self.running:
            container = self.running.pop(pid)
            self.end_output(container)
            container.ended(status)
        elif self.starting:
            self.unclaimed[pid] = status

    def runc_ended(self, container: Container, client: socket.socket, status: int) -> None:
        if status != 0:
            self.end_output(container)
            self.answer(client, {"error": RUNC_FAILED})
            return
        with open(os.path.join(container.folder, "pid")) as file:
            container.pid = int(file.read())
        self.record(container)
        self.running[container.pid] = container
        self.answer(client, {"pid": container.pid})
        if container.pid in self.unclaimed:
            self.reaped(container.pid, self.unclaimed.pop(container.pid))

    def record(self, container: Container) -> None:
        """A container that has ended already has no start time any more; its exit file tells enough."""
        try:
            began = start_time(container.pid)
        except (OSError, IndexError):
            began = 0
        content = {"pid": container.pid, "startTime": began, "startedAt": time.time()}
        write_atomically(os.path.join(container.folder, "process.json"), content)


def spawn(argv: list[str], stdout: int, stderr: int) -> int:
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, stdout, 1),
        (os.POSIX_SPAWN_DUP2, stderr, 2),
    ]
    return os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions, setsigmask=[])


def daemonise() -> None:
    """Leave the agent's session, so that neither its end nor its terminal's reaches us."""
    if os.fork():
        os._exit(0)
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def listen() -> socket.socket:
    """Bound by a relative name, because a socket's path may have 107 characters at most."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(SOCKET)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(SOCKET)
    listener.listen(64)
    return listener


def main(folder: str) -> None:
    os.chdir(folder)
    lock = os.open("reaper.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink("reaper.json")
    os.umask(0o077)
    wakeup, alarm = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    listener = listen()
    daemonise()
    write_atomically("reaper.json", {"pid": os.getpid()})
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    Reaper().serve(listener, wakeup)
    os.unlink(SOCKET)


if __name__ == "__main__":
    main(sys.argv[1])
