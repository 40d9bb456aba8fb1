"""The reaper: one small process a node that outlives the node agent and is the parent of all containers.

It starts `runc run --detach`, adopts the container that leaves behind (as subreaper), writes what the
container prints as CRI log lines, and its exit code to a file. It runs as a plain script with the standard
library only (`python -I -S reaper.py FOLDER`), to stay small; it knows nothing of Pods and decides nothing.

In a container's folder it writes `process.json`, `exit.json` and `log`, the first two atomically. Output
goes through FIFOs that the container holds open both ways: should the reaper die, writers block instead
of being killed, and the next reaper reads on. Only a container with a terminal of its own ends with the
reaper, which holds the terminal's other end.

One file although long, because a script run so has no modules beside it.
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
from collections import deque
from typing import Any

SOCKET = "reaper.sock"
RUNC_FAILED = "runc failed"
IDLE_SECONDS = 5.0
READ_SIZE = 65536
LONGEST_LINE = 16384
LOG_LIMIT = 10 * 1024 * 1024
PR_SET_CHILD_SUBREAPER = 36
CONSOLE = "console.sock"
INPUT_FLAGS = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
CHANNELS = {b"stdout": b"\x01", b"stderr": b"\x02"}


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


class Listener:
    """Someone attached to a container's output. What can't be sent yet waits here, and the container too."""

    def __init__(self, client: socket.socket) -> None:
        self.client = client
        self.waiting: deque[bytes] = deque()
        self.ended = False
        self.gone = False

    def send(self, message: bytes) -> None:
        self.waiting.append(message)
        self.flush()

    def flush(self) -> None:
        try:
            while self.waiting:
                self.client.send(self.waiting[0], socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
                self.waiting.popleft()
        except BlockingIOError:
            return
        except OSError:
            self.gone = True
            self.waiting.clear()


class Container:
    """The output of one container, being copied; and its process, once runc has made it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.pid = 0
        self.log = Log(os.path.join(folder, "log"))
        self.streams: dict[int, Lines] = {}
        self.listeners: list[Listener] = []
        # Where input goes: a FIFO's end or a terminal; -1 if there is none or it has ended.
        self.input = -1
        self.paused = False
        self.console: tuple[socket.socket, int] | None = None

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def fifo(self, name: str, flags: int) -> int:
        if not os.path.exists(self.path(name)):
            os.mkfifo(self.path(name), 0o600)
        return os.open(self.path(name), flags | os.O_CLOEXEC)

    def open_output(self) -> None:
        for name in ("stdout", "stderr"):
            self.streams[self.fifo(name, os.O_RDONLY | os.O_NONBLOCK)] = Lines(name.encode())

    def open_writers(self) -> list[int]:
        """Ends for the container itself. Read and write: that way it never sees a broken pipe."""
        return [self.fifo(name, os.O_RDWR) for name in ("stdout", "stderr")]

    def open_input(self, once: bool) -> int:
        """The container's end. One that takes input more than once holds both ends: it never sees the end."""
        if once:
            reader = self.fifo("stdin", os.O_RDONLY | os.O_NONBLOCK)
            os.set_blocking(reader, True)
        else:
            reader = self.fifo("stdin", os.O_RDWR)
        self.input = os.open(self.path("stdin"), INPUT_FLAGS)
        return reader

    def end_input(self) -> None:
        if self.input >= 0 and self.input not in self.streams:
            os.close(self.input)
            self.input = -1

    def copy(self, reader: int) -> bool | None:
        """Copy what one stream has to offer; None if that is nothing at the moment, False at its end."""
        try:
            data = os.read(reader, READ_SIZE)
        except BlockingIOError:
            return None
        except OSError:
            # How a terminal says that nobody holds its other end any more.
            data = b""
        stamp = timestamp(time.time_ns())
        lines = self.streams[reader]
        self.log.write(lines.feed(data, stamp) if data else lines.finish(stamp))
        for listener in self.listeners if data else ():
            listener.send(CHANNELS[lines.name] + data)
        return bool(data)

    def drain(self) -> None:
        for reader in self.streams:
            while self.copy(reader):
                pass

    def held_up(self) -> bool:
        self.listeners = [listener for listener in self.listeners if not listener.gone]
        return any(listener.waiting for listener in self.listeners)

    def ended(self, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        exit_code, number = (128 - code, -code) if code < 0 else (code, 0)
        content = {"exitCode": exit_code, "signal": number, "finishedAt": time.time()}
        write_atomically(self.path("exit.json"), content)


class Reaper:
    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.clients: set[socket.socket] = set()
        self.starting: dict[int, tuple[Container, socket.socket]] = {}
        self.running: dict[int, Container] = {}
        # Containers may end, and be reaped, before their runc is: their status waits here meanwhile.
        self.unclaimed: dict[int, int] = {}
        self.copied: dict[str, Container] = {}
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
            self.run(request, client)
        elif request["do"] == "attach":
            self.attach(request["folder"], client)
        elif request["do"] == "end-input":
            self.copied[request["folder"]].end_input()
            self.answer(client, {})
        elif request["do"] == "adopt":
            self.adopt(request["folder"], request["pid"])
            self.answer(client, {})
        elif request["do"] == "settle":
            self.settling.append(client)
            self.settle()

    def run(self, request: dict[str, Any], client: socket.socket) -> None:
        container = Container(request["folder"])
        argv = request["argv"]
        if request.get("tty"):
            argv = [*argv[:-1], "--console-socket", self.expect_console(container), argv[-1]]
            ends = [os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC) for _ in range(3)]
        else:
            container.open_output()
            kind = request.get("stdin")
            null = os.O_RDONLY | os.O_CLOEXEC
            stdin = container.open_input(kind == "once") if kind else os.open(os.devnull, null)
            ends = [stdin, *container.open_writers()]
        try:
            pid = spawn(argv, *ends)
        finally:
            for end in ends:
                os.close(end)
        self.watch_output(container)
        self.starting[pid] = (container, client)

    def expect_console(self, container: Container) -> str:
        """Where runc is to send the terminal, by a short path (a socket's may have 107 characters)."""
        folder = os.open(container.folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = f"/proc/{os.getpid()}/fd/{folder}/{CONSOLE}"
        listener.bind(path)
        listener.listen(1)
        container.console = (listener, folder)

        def accept(_: socket.socket) -> None:
            connection, _address = listener.accept()
            self.close_console(container)
            self.selector.register(connection, selectors.EVENT_READ, take)

        def take(connection: socket.socket) -> None:
            _, terminals, _, _ = socket.recv_fds(connection, 4096, 1)
            self.selector.unregister(connection)
            connection.close()
            for terminal in terminals:
                self.watch_terminal(container, terminal)

        self.selector.register(listener, selectors.EVENT_READ, accept)
        return path

    def close_console(self, container: Container) -> None:
        if container.console:
            listener, folder = container.console
            container.console = None
            self.selector.unregister(listener)
            listener.close()
            os.close(folder)

    def attach(self, folder: str, client: socket.socket) -> None:
        """From here on the client is sent the container's output, and has the end that takes its input."""
        container = self.copied[folder]
        descriptors = [container.input] if container.input >= 0 else []
        socket.send_fds(client, [json.dumps({"input": bool(descriptors)}).encode()], descriptors)
        listener = Listener(client)
        container.listeners.append(listener)

        def writable_or_gone(_: socket.socket) -> None:
            if client not in self.clients:
                return
            listener.flush()
            try:
                listener.gone = listener.gone or not client.recv(READ_SIZE, socket.MSG_DONTWAIT)
            except OSError as error:
                listener.gone = listener.gone or not isinstance(error, BlockingIOError)
            if listener.gone or (listener.ended and not listener.waiting):
                self.forget(client)
            elif not listener.waiting:
                self.selector.modify(client, selectors.EVENT_READ, writable_or_gone)
            self.pace(container)

        self.selector.modify(client, selectors.EVENT_READ, writable_or_gone)

    def adopt(self, folder: str, pid: int) -> None:
        """Go on copying the output of a container that an earlier reaper started."""
        if folder not in self.copied:
            container = Container(folder)
            container.pid = pid
            container.open_output()
            with contextlib.suppress(OSError):
                container.input = os.open(container.path("stdin"), INPUT_FLAGS)
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
        self.copied[container.folder] = container
        for reader in container.streams:
            self.watch(container, reader)

    def watch(self, container: Container, reader: int) -> None:
        def copy(reader: int) -> None:
            if container.copy(reader) is False:
                self.unwatch(container, reader)
            self.pace(container)

        self.selector.register(reader, selectors.EVENT_READ, copy)

    def watch_terminal(self, container: Container, terminal: int) -> None:
        os.set_blocking(terminal, False)
        container.input = terminal
        container.streams[terminal] = Lines(b"stdout")
        self.watch(container, terminal)

    def pace(self, container: Container) -> None:
        """A container whose listener can't follow is not read until it can."""
        held_up = container.held_up()
        for listener in container.listeners:
            if listener.waiting:
                key = self.selector.get_key(listener.client)
                self.selector.modify(listener.client, selectors.EVENT_READ | selectors.EVENT_WRITE, key.data)
        if held_up == container.paused:
            return
        container.paused = held_up
        for reader in container.streams:
            if held_up:
                self.selector.unregister(reader)
            else:
                self.watch(container, reader)

    def unwatch(self, container: Container, reader: int) -> None:
        if not container.paused:
            self.selector.unregister(reader)
        if container.input == reader:
            container.input = -1
        os.close(reader)
        del container.streams[reader]
        if not container.streams:
            self.finish_output(container)

    def end_output(self, container: Container) -> None:
        container.drain()
        for reader in list(container.streams):
            container.log.write(container.streams[reader].finish(timestamp(time.time_ns())))
            self.unwatch(container, reader)
        self.finish_output(container)

    def finish_output(self, container: Container) -> None:
        if self.copied.pop(container.folder, None) is None:
            return
        container.log.close()
        container.end_input()
        self.close_console(container)
        for listener in container.listeners:
            listener.ended = True
            if not listener.waiting:
                self.forget(listener.client)
        self.pace(container)

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


def spawn(argv: list[str], stdin: int, stdout: int, stderr: int) -> int:
    actions = [
        (os.POSIX_SPAWN_DUP2, stdin, 0),
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
