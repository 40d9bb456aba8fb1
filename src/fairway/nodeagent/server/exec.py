"""A command in a running container, its streams carried over channels."""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import tempfile
import termios
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fairway.httpserver import Tunnel
from fairway.nodeagent.runtime.runc import Runc, kill_recorded
from fairway.nodeagent.server.channels import (
    ERROR,
    STDERR,
    STDOUT,
    Channels,
    Input,
    InputEnd,
    Left,
    Resize,
    exit_status,
)

_CHUNK = 32 * 1024


@dataclass(frozen=True, slots=True)
class ExecRequest:
    container_id: str
    command: tuple[str, ...]
    stdin: bool = False
    stdout: bool = True
    stderr: bool = True
    tty: bool = False


async def serve(tunnel: Tunnel, runc: Runc, request: ExecRequest) -> None:
    """Run the command, carry its streams, say how it ended. A client that leaves ends the command."""
    session = _Session(tunnel)
    with tempfile.TemporaryDirectory(prefix="fairway-exec-") as folder:
        pid_file = Path(folder, "pid")
        argv = runc.exec_command(request.container_id, request.command, pid_file, request.tty)
        open_command = _with_terminal if request.tty else _with_pipes
        async with open_command(argv, request) as command:
            code = await session.carry(command)
        if code is None:
            kill_recorded(pid_file)
            return
    await session.send(ERROR, exit_status(code))
    await session.end()


class _Command:
    """A started command: where its output comes from and its input goes to."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        outputs: Sequence[tuple[int, asyncio.StreamReader]],
        stdin: asyncio.StreamWriter | None = None,
        terminal: int | None = None,
    ) -> None:
        self.process = process
        self.outputs = outputs
        self._stdin = stdin
        self._terminal = terminal

    async def feed(self, data: bytes) -> None:
        if self._stdin:
            try:
                self._stdin.write(data)
                await self._stdin.drain()
            except (ConnectionError, OSError):
                self._stdin = None

    def end_input(self) -> None:
        """On a terminal the end of input is a character (Ctrl-D)."""
        if self._stdin and self._terminal is None:
            self._stdin.close()
        elif self._stdin:
            self._stdin.write(b"\x04")

    def resize(self, width: int, height: int) -> None:
        if self._terminal is not None and width > 0 and height > 0:
            fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))


class _Session:
    def __init__(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel
        self._channels = Channels()

    async def send(self, channel: int, data: bytes) -> None:
        await self._tunnel.write(self._channels.message(channel, data))

    async def end(self) -> None:
        await self._tunnel.write(self._channels.close())

    async def carry(self, command: _Command) -> int | None:
        """The exit code once the command has ended and all it wrote is sent; None if the client left."""
        listening = asyncio.create_task(self._listen(command))
        telling = asyncio.create_task(self._tell(command))
        done, pending = await asyncio.wait({listening, telling}, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        return telling.result() if telling in done else None

    async def _tell(self, command: _Command) -> int:
        await asyncio.gather(*(self._copy(channel, reader) for channel, reader in command.outputs))
        return await command.process.wait()

    async def _copy(self, channel: int, reader: asyncio.StreamReader) -> None:
        try:
            while data := await reader.read(_CHUNK):
                await self.send(channel, data)
        except OSError:
            # A terminal whose last user is gone answers EIO instead of an end of file.
            return

    async def _listen(self, command: _Command) -> None:
        """Until the client leaves."""
        while True:
            for event in self._channels.receive(await self._tunnel.read()):
                match event:
                    case Input(data):
                        await command.feed(data)
                    case InputEnd():
                        command.end_input()
                    case Resize(width, height):
                        command.resize(width, height)
                    case Left():
                        return
            for reply in self._channels.replies:
                await self._tunnel.write(reply)
            self._channels.replies.clear()


@asynccontextmanager
async def _with_pipes(argv: list[str], request: ExecRequest) -> AsyncIterator[_Command]:
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=pipe if request.stdin else null,
        stdout=pipe if request.stdout else null,
        stderr=pipe if request.stderr else null,
        limit=_CHUNK,
    )
    outputs = [(STDOUT, process.stdout), (STDERR, process.stderr)]
    try:
        yield _Command(process, [(n, reader) for n, reader in outputs if reader], process.stdin)
    finally:
        await _reap(process)


@asynccontextmanager
async def _with_terminal(argv: list[str], request: ExecRequest) -> AsyncIterator[_Command]:
    """runc gets a terminal of its own as its controlling one (by `setsid`), to be told of new sizes."""
    ours, theirs = os.openpty()
    try:
        process = await asyncio.create_subprocess_exec(
            *("setsid", "--ctty", "--wait", *argv), stdin=theirs, stdout=theirs, stderr=theirs
        )
    finally:
        os.close(theirs)
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(_CHUNK)
    reading, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(ours), "rb", 0)
    )
    writing, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(ours), "wb", 0)
    )
    stdin = asyncio.StreamWriter(writing, protocol, None, loop) if request.stdin else None
    try:
        yield _Command(process, [(STDOUT, reader)], stdin, ours)
    finally:
        reading.close()
        writing.close()
        os.close(ours)
        await _reap(process)


async def _reap(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()
