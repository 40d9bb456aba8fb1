"""The agent's side of the reaper: starting it when it isn't there, and asking it for things."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import structlog

from fairway.nodeagent.runtime import reaper

log = structlog.get_logger()
_ATTEMPTS = 3


class ReaperError(Exception):
    """The reaper could not do what it was asked."""


class Attachment:
    """A container's output as messages, the first byte of each its stream's number; and where input goes."""

    def __init__(self, connection: socket.socket, descriptor: int) -> None:
        self._connection = connection
        self.input = descriptor

    async def read(self) -> bytes:
        """b"" once the container has ended."""
        try:
            return await asyncio.get_running_loop().sock_recv(self._connection, 2 * reaper.READ_SIZE)
        except OSError:
            return b""

    def close_input(self) -> None:
        if self.input >= 0:
            os.close(self.input)
            self.input = -1

    def close(self) -> None:
        self.close_input()
        self._connection.close()


class ReaperClient:
    """One request a connection. `stay` keeps the reaper alive while no container is there to do so."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._spawning = asyncio.Lock()

    async def run(self, container_folder: Path, argv: list[str], stdin: str = "", tty: bool = False) -> int:
        """Start a container with a `runc run --detach` command line; returns its process.

        `stdin` is empty for none, `once` if it ends with the first who attaches, `open` if it never does.
        """
        request = {"do": "run", "folder": os.fspath(container_folder), "argv": argv}
        answer = await self._ask(request | {"stdin": stdin, "tty": tty})
        return int(answer["pid"])

    async def attach(self, container_folder: Path) -> Attachment:
        """To a running container's output from now on, and its input if it takes any."""
        loop = asyncio.get_running_loop()
        connection = await self._connection()
        try:
            request = {"do": "attach", "folder": os.fspath(container_folder)}
            await loop.sock_sendall(connection, msgspec.json.encode(request))
            await _readable(connection)
            data, descriptors, _, _ = socket.recv_fds(connection, 4096, 1)
            if not data or "error" in msgspec.json.decode(data):
                raise ReaperError("the container has just ended")
        except BaseException:
            connection.close()
            raise
        return Attachment(connection, descriptors[0] if descriptors else -1)

    async def end_input(self, container_folder: Path) -> None:
        await self._ask({"do": "end-input", "folder": os.fspath(container_folder)})

    async def adopt(self, container_folder: Path, pid: int) -> None:
        """Let it copy the output of a container that it didn't start. Harmless if it did."""
        await self._ask({"do": "adopt", "folder": os.fspath(container_folder), "pid": pid})

    async def settle(self) -> None:
        """Until no container is half made, such as one that a killed agent asked for."""
        await self._ask({"do": "settle"})

    async def stay(self, adopt_all: Callable[[], Awaitable[None]]) -> None:
        """For ever: whenever a reaper has come (back), let it adopt what runs."""
        loop = asyncio.get_running_loop()
        while True:
            connection = await self._connection()
            try:
                await adopt_all()
                await loop.sock_recv(connection, 1)
            except (OSError, ReaperError):
                pass
            finally:
                connection.close()
            log.warning("reaper ended; starting another")

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        connection = await self._connection()
        try:
            await loop.sock_sendall(connection, msgspec.json.encode(request))
            data = await loop.sock_recv(connection, 65536)
        except OSError as error:
            raise ReaperError(f"the reaper went away: {error}") from error
        finally:
            connection.close()
        if not data:
            raise ReaperError("the reaper went away")
        answer: dict[str, Any] = msgspec.json.decode(data)
        if "error" in answer:
            raise ReaperError(answer["error"])
        return answer

    async def _connection(self) -> socket.socket:
        for _ in range(_ATTEMPTS):
            try:
                return await self._connect()
            except (FileNotFoundError, ConnectionRefusedError):
                await self._spawn()
        raise ReaperError("the reaper can't be reached")

    async def _connect(self) -> socket.socket:
        """Through a short path below /proc, because a socket's path may have 107 characters at most."""
        folder = os.open(self._folder, os.O_PATH | os.O_DIRECTORY)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        try:
            path = f"/proc/self/fd/{folder}/{reaper.SOCKET}"
            await asyncio.get_running_loop().sock_connect(connection, path)
        except BaseException:
            connection.close()
            raise
        finally:
            os.close(folder)
        return connection

    async def _spawn(self) -> None:
        """It leaves for the background once it listens; one that finds another at work just ends."""
        async with self._spawning:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", reaper.__file__, os.fspath(self._folder)),
                stdin=asyncio.subprocess.DEVNULL,
            )
            try:
                await process.wait()
            finally:
                # Even when cancelled: in a moment it has left for the background, or has found another.
                await process.wait()


async def _readable(connection: socket.socket) -> None:
    """Event loops don't receive descriptors themselves."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)
