"""Kubernetes' channels over WebSocket, without I/O: bytes in, events out; messages in, bytes out.

Each binary message begins with the number of its channel. Subprotocols `v5.channel.k8s.io`, which can close
stdin, and `v4.channel.k8s.io`, which can't.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage
from wsproto.utilities import RemoteProtocolError, generate_accept_token

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
SUBPROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")


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


class _Size(msgspec.Struct, frozen=True, rename="pascal"):
    width: int = 0
    height: int = 0


def choose_subprotocol(offered: str) -> str | None:
    """The best one that both sides know, of those a client lists in its header."""
    names = {name.strip() for name in offered.split(",")}
    return next((name for name in SUBPROTOCOLS if name in names), None)


def accept_headers(key: str, subprotocol: str) -> tuple[tuple[str, str], ...]:
    return (
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Accept", generate_accept_token(key.encode()).decode()),
        ("Sec-WebSocket-Protocol", subprotocol),
    )


class Channels:
    """The server's side of one connection, after the handshake. Pongs wait in `replies`."""

    def __init__(self) -> None:
        self._connection = Connection(ConnectionType.SERVER)
        self._partial = bytearray()
        self.replies: list[bytes] = []

    def receive(self, data: bytes) -> list[Event]:
        """Events of what arrived; b"" means that the connection has ended."""
        if not data:
            return [Left()]
        events: list[Event] = []
        try:
            self._connection.receive_data(data)
            for event in self._connection.events():
                if isinstance(event, BytesMessage | TextMessage):
                    events += self._part(event)
                elif isinstance(event, Ping):
                    self.replies.append(self._connection.send(event.response()))
                elif isinstance(event, CloseConnection):
                    self.replies.append(self.close(1000))
                    events.append(Left())
        except RemoteProtocolError:
            events.append(Left())
        return events

    def _part(self, event: BytesMessage | TextMessage) -> list[Event]:
        """Messages may come in fragments; only a whole one has a meaning."""
        self._partial += event.data.encode() if isinstance(event.data, str) else event.data
        if not event.message_finished:
            return []
        message, self._partial = bytes(self._partial), bytearray()
        return _meaning(message)

    def message(self, channel: int, data: bytes) -> bytes:
        return self._connection.send(BytesMessage(data=bytes([channel]) + data))

    def close(self, code: int = 1000) -> bytes:
        """Nothing if it is closed already."""
        if self._connection.state in (ConnectionState.OPEN, ConnectionState.REMOTE_CLOSING):
            return self._connection.send(CloseConnection(code=code))
        return b""


def _meaning(message: bytes) -> list[Event]:
    if not message:
        return []
    channel, data = message[0], message[1:]
    if channel == STDIN:
        return [Input(data)] if data else []
    if channel == CLOSE and data == bytes([STDIN]):
        return [InputEnd()]
    if channel == RESIZE:
        try:
            size = msgspec.json.decode(data, type=_Size)
        except msgspec.MsgspecError:
            return []
        return [Resize(size.width, size.height)]
    return []


def exit_status(code: int) -> bytes:
    """What channel 3 carries at the end."""
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
