"""What exec and attach say to a client, whichever protocol carries it: streams, events, a final status. Pure.

`websocket_conversation` and `spdy_conversation` are the two ways there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

STDIN, STDOUT, STDERR, ERROR, RESIZE = 0, 1, 2, 3, 4
# How long a client is given to hang up once it has been told the end, so that it gets to read all of it.
FAREWELL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Input:
    data: bytes


@dataclass(frozen=True, slots=True)
class InputEnd:
    pass


@dataclass(frozen=True, slots=True)
class Resize:
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Left:
    """The client has closed the connection."""


Event = Input | InputEnd | Resize | Left


@dataclass(frozen=True, slots=True)
class Streams:
    """Which of them a client asked for. A terminal has one output only."""

    stdin: bool = False
    stdout: bool = True
    stderr: bool = True
    tty: bool = False


class Conversation(Protocol):
    async def begin(self, streams: Streams) -> None:
        """Until the streams are there; raises ConnectionError if they don't come."""

    async def send(self, channel: int, data: bytes) -> None: ...

    async def receive(self) -> Sequence[Event]: ...

    async def finish(self, status: bytes) -> None:
        """Say how it ended, and wait (bounded) until the client has hung up."""


class _Size(msgspec.Struct, frozen=True, rename="pascal"):
    width: int = 0
    height: int = 0


def resize(data: bytes) -> list[Event]:
    """Nothing if it makes no sense."""
    try:
        size = msgspec.json.decode(data, type=_Size)
    except msgspec.MsgspecError:
        return []
    return [Resize(size.width, size.height)]


def exit_status(code: int) -> bytes:
    """What the error stream carries at the end."""
    if code == 0:
        return b'{"metadata":{},"status":"Success"}'
    status = {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
    return msgspec.json.encode(status)


def failure_status(message: str) -> bytes:
    status = {
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "InternalError",
        "code": 500,
    }
    return msgspec.json.encode(status)
