"""A command in a running container, with pipes or a terminal of its own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fairway.nodeagent.runtime.runc import Runc, end, kill_recorded
from fairway.nodeagent.server.conversation import (
    STDERR,
    STDOUT,
    Conversation,
    Streams,
    exit_status,
)
from fairway.nodeagent.server.session import Send, carry
from fairway.nodeagent.server.terminal import Terminal

_CHUNK = 32 * 1024


@dataclass(frozen=True, slots=True)
class ExecRequest:
    container_id: str
    command: tuple[str, ...]
    streams: Streams = field(default_factory=Streams)


async def serve(conversation: Conversation, runc: Runc, request: ExecRequest) -> None:
    """Run the command, carry its streams, say how it ended. A client that leaves ends the command."""
    await conversation.begin(request.streams)
    with tempfile.TemporaryDirectory(prefix="fairway-exec-") as folder:
        pid_file = Path(folder, "pid")
        tty = request.streams.tty
        argv = runc.exec_command(request.container_id, request.command, pid_file, tty)
        open_command = _with_terminal if tty else _with_pipes
        async with open_command(argv, request.streams) as command:
            code = await carry(conversation, command)
        if code is None:
            kill_recorded(pid_file)
            return
    await conversation.finish(exit_status(code))


class _Readable(Protocol):
    async def read(self, size: int, /) -> bytes: ...


class _Command:
    """A started command: where its output comes from and its input goes to."""

    def __init__(self, process: asyncio.subprocess.Process, outputs: Sequence[tuple[int, _Readable]]) -> None:
        self._process = process
        self._outputs = outputs

    async def tell(self, send: Send) -> int:
        async def copy(channel: int, reader: _Readable) -> None:
            while data := await reader.read(_CHUNK):
                await send(channel, data)

        await asyncio.gather(*(copy(channel, reader) for channel, reader in self._outputs))
        return await self._process.wait()

    async def feed(self, data: bytes) -> None:
        """What a command that reads no more is sent is lost."""
        stdin = self._process.stdin
        try:
            if stdin and not stdin.is_closing():
                stdin.write(data)
                await stdin.drain()
        except OSError:
            return

    async def end_input(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()

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


@asynccontextmanager
async def _with_pipes(argv: list[str], streams: Streams) -> AsyncIterator[_Command]:
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=pipe if streams.stdin else null,
        stdout=pipe if streams.stdout else null,
        stderr=pipe if streams.stderr else null,
        limit=_CHUNK,
    )
    outputs = [(STDOUT, process.stdout), (STDERR, process.stderr)]
    try:
        yield _Command(process, [(channel, reader) for channel, reader in outputs if reader])
    finally:
        await end(process)


@asynccontextmanager
async def _with_terminal(argv: list[str], streams: Streams) -> AsyncIterator[_Command]:
    """runc gets a terminal of its own as its controlling one (by `setsid`), to be told of new sizes."""
    terminal = Terminal()
    try:
        theirs = terminal.theirs
        process = await asyncio.create_subprocess_exec(
            *("setsid", "--ctty", "--wait", *argv), stdin=theirs, stdout=theirs, stderr=theirs
        )
        terminal.close_theirs()
        try:
            yield _TerminalCommand(process, terminal, streams.stdin)
        finally:
            await end(process)
    finally:
        terminal.close()
