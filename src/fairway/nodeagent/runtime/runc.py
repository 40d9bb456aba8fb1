"""runc's commands, by argument list. Starting containers goes through the reaper; see `containers`."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec


@dataclass(frozen=True, slots=True)
class Completed:
    exit_code: int
    output: bytes
    errors: bytes


class Runc:
    def __init__(self, root: Path, program: str = "runc") -> None:
        self._base = (program, "--root", os.fspath(root))

    def run_command(self, container_id: str, folder: Path) -> list[str]:
        """Makes the container, starts it and leaves it behind; errors go to `runc.log` as JSON."""
        return [
            *(*self._base, "--log", os.fspath(folder / "runc.log"), "--log-format", "json"),
            *("run", "--detach", "--bundle", os.fspath(folder), "--pid-file", os.fspath(folder / "pid")),
            container_id,
        ]

    def exec_command(
        self, container_id: str, command: Sequence[str], pid_file: Path, tty: bool = False
    ) -> list[str]:
        options = ["--tty", "--env", "TERM=xterm"] if tty else []
        return [*self._base, "exec", *options, "--pid-file", os.fspath(pid_file), container_id, *command]

    async def execute(self, container_id: str, command: Sequence[str]) -> Completed:
        """Run a command inside and wait for it. Cancelled, it ends the command too, not just runc."""
        with tempfile.TemporaryDirectory(prefix="fairway-exec-") as folder:
            pid_file = Path(folder, "pid")
            try:
                return await completed(self.exec_command(container_id, command, pid_file))
            except asyncio.CancelledError:
                kill_recorded(pid_file)
                raise

    async def delete(self, container_id: str) -> None:
        """With everything still running in it; one that doesn't exist is fine."""
        await self.call("delete", "--force", container_id)

    async def version(self) -> str:
        """As nodes publish it: `runc://1.1.5`."""
        done = await self.call("--version")
        words = done.output.decode().split()
        return "runc://" + (words[2] if len(words) > 2 else "unknown")

    async def call(self, *args: str) -> Completed:
        return await completed([*self._base, *args])


async def completed(argv: Sequence[str]) -> Completed:
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await process.communicate()
    except BaseException:
        await end(process)
        raise
    assert process.returncode is not None
    return Completed(process.returncode, output, errors)


async def end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()


def kill_recorded(pid_file: Path) -> None:
    """End the process that runc wrote down: killing runc itself would leave it behind."""
    try:
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
    except (OSError, ValueError):
        pass


class _LogLine(msgspec.Struct, frozen=True):
    level: str = ""
    msg: str = ""


def last_error(folder: Path) -> str:
    """What runc said went wrong."""
    try:
        lines = (folder / "runc.log").read_bytes()
        messages = [line.msg for line in msgspec.json.Decoder(_LogLine).decode_lines(lines) if line.msg]
    except (OSError, msgspec.MsgspecError):
        messages = []
    return messages[-1] if messages else "runc gave no reason"
