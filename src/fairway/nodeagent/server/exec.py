"""A command in a running container, its streams carried over channels."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fairway.httpserver import Tunnel
from fairway.nodeagent.runtime.runc import Runc, end, kill_recorded
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
from fairway.nodeagent.server.terminal import Terminal

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


class _Readable(Protocol):
    async def read(self, size: int, /) -> bytes: ...


class _Command:
    """A started command: where its output comes from and its input goes to."""

    def __init__(self, process: asyncio.subprocess.Process, outputs: Sequence[tuple[int, _Readable]]) -> None:
        self.process = process
        self.outputs = outputs

    async def feed(self, data: bytes) -> None:
        """What a command that reads no more is sent is lost."""
        stdin = self.process.stdin
        try:
            if stdin and not stdin.is_closing():
                stdin.write(data)
                await stdin.drain()
        except OSError:
            return

    async def end_input(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()

    def resize(self, width: int, height: int) -> None:
        """Only terminals have a size."""


class _TerminalCommand(_Command):
    def __init__(self, process: asyncio.subprocess.Process, terminal: Terminal, stdin: bool) -> None:
        super().__init__(process, [(STDOUT, terminal)])
        self._terminal = terminal
        self._stdin = stdin

    async def feed(self, data: bytes) -> None:
        if self._stdin:
            await self._terminal.write(data)

    async def end_input(self) -> None:
        """On a terminal the end of input is a character (Ctrl-D)."""
        await self.feed(b"\x04")

    def resize(self, width: int, height: int) -> None:
        if width > 0 and height > 0:
            self._terminal.resize(width, height)


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

    async def _copy(self, channel: int, reader: _Readable) -> None:
        while data := await reader.read(_CHUNK):
            await self.send(channel, data)

    async def _listen(self, command: _Command) -> None:
        """Until the client leaves."""
        while True:
            for event in self._channels.receive(await self._tunnel.read()):
                match event:
                    case Input(data):
                        await command.feed(data)
                    case InputEnd():
                        await command.end_input()
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
        yield _Command(process, [(channel, reader) for channel, reader in outputs if reader])
    finally:
        await end(process)


@asynccontextmanager
async def _with_terminal(argv: list[str], request: ExecRequest) -> AsyncIterator[_Command]:
    """runc gets a terminal of its own as its controlling one (by `setsid`), to be told of new sizes."""
    terminal = Terminal()
    try:
        theirs = terminal.theirs
        process = await asyncio.create_subprocess_exec(
            *("setsid", "--ctty", "--wait", *argv), stdin=theirs, stdout=theirs, stderr=theirs
        )
        terminal.close_theirs()
        try:
            yield _TerminalCommand(process, terminal, request.stdin)
        finally:
            await end(process)
    finally:
        terminal.close()
