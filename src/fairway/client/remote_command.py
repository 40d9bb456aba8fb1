"""Running a command in a container: the channel protocol that `kubectl exec` speaks, over a WebSocket.

Every message begins with the number of its channel. The server ends with a Status on the error channel.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import msgspec

from fairway.api.resources import PODS
from fairway.client.errors import ApiError
from fairway.client.rest import Client
from fairway.client.transport import WebSocket

PROTOCOL = "v5.channel.k8s.io"
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255

Sink = Callable[[bytes], None]
Resizes = AsyncIterator[tuple[int, int]]


async def run_in_container(
    client: Client,
    pod: str,
    command: Sequence[str],
    *,
    namespace: str,
    container: str = "",
    stdin: AsyncIterator[bytes] | None = None,
    stdout: Sink,
    stderr: Sink,
    tty: bool = False,
    resizes: Resizes | None = None,
) -> int:
    """Run it to its end and return its exit code."""
    params = [("command", part) for part in command] + [("stdout", "true")]
    if container:
        params.append(("container", container))
    if stdin is not None:
        params.append(("stdin", "true"))
    params.append(("tty", "true") if tty else ("stderr", "true"))
    path = PODS.path(namespace, pod, "exec")
    async with client.websocket(path, params=params, protocol=PROTOCOL) as socket:
        senders = [_send_stdin(socket, stdin)] if stdin is not None else []
        if resizes is not None:
            senders.append(_send_sizes(socket, resizes))
        return await _converse(socket, senders, {STDOUT: stdout, STDERR: stderr})


async def _converse(socket: WebSocket, senders: Sequence[Awaitable[None]], sinks: dict[int, Sink]) -> int:
    tasks = [asyncio.ensure_future(sender) for sender in senders]
    try:
        return await _receive(socket, sinks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _receive(socket: WebSocket, sinks: dict[int, Sink]) -> int:
    while (message := await socket.receive()) is not None:
        if not message:
            continue
        channel, data = message[0], message[1:]
        if channel == ERROR:
            return exit_code(msgspec.json.decode(data))
        if channel in sinks and data:
            sinks[channel](data)
    raise ApiError(500, "InternalError", "the connection ended before the command did")


async def _send_stdin(socket: WebSocket, stdin: AsyncIterator[bytes]) -> None:
    async for data in stdin:
        await socket.send(bytes([STDIN]) + data)
    await socket.send(bytes([CLOSE, STDIN]))


async def _send_sizes(socket: WebSocket, resizes: Resizes) -> None:
    async for width, height in resizes:
        size = msgspec.json.encode({"Width": width, "Height": height})
        await socket.send(bytes([RESIZE]) + size)


def exit_code(status: dict[str, Any]) -> int:
    """0 for Success, the command's own code if it ended with one; anything else is an error."""
    if status.get("status") == "Success":
        return 0
    if status.get("reason") == "NonZeroExitCode":
        for cause in (status.get("details") or {}).get("causes") or ():
            if cause.get("reason") == "ExitCode":
                return int(cause.get("message", 1))
    raise ApiError(
        int(status.get("code") or 500),
        status.get("reason") or "",
        status.get("message") or "the command failed",
    )
