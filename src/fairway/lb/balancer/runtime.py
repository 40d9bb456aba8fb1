"""HAProxy's runtime interface: commands over its socket, and the answers, which are mostly silence."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

SECONDS = 5.0
AT_ONCE = 64


class RuntimeRefused(Exception):
    """HAProxy did not do what it was told; the text is its answer."""


async def ask(path: Path, command: str) -> str:
    """One line of commands, or one with a payload; HAProxy answers and closes."""
    try:
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(command.encode() if command.endswith("\n") else f"{command}\n".encode())
                await writer.drain()
                return (await reader.read()).decode(errors="replace").strip()
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        raise RuntimeRefused(f"no answer on {path}: {error}") from error


async def tell(path: Path, commands: Sequence[str]) -> None:
    """Commands that change servers. Each that worked is answered by nothing, or by what it changed."""
    for start in range(0, len(commands), AT_ONCE):
        answer = await ask(path, ";".join(commands[start : start + AT_ONCE]))
        for line in answer.splitlines():
            if line.startswith(("No such", "Unknown", "Invalid", "Require", "Permission", "'set server")):
                raise RuntimeRefused(line)


async def replace_certificate(path: Path, steps: tuple[str, str]) -> None:
    prepare, commit = steps
    if "Transaction" not in (answer := await ask(path, prepare)):
        raise RuntimeRefused(answer)
    if "Success" not in (answer := await ask(path, commit)):
        raise RuntimeRefused(answer)
