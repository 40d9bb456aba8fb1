"""Kubernetes' channels over WebSocket, without I/O: bytes in, events out; messages in, bytes out.

Each binary message begins with the number of its channel. Subprotocols `v5.channel.k8s.io`, which can close
stdin, and `v4.channel.k8s.io`, which can't.
"""

from __future__ import annotations

from fairway.nodeagent.server.conversation import RESIZE, STDIN, Event, Input, InputEnd, Left, resize
from fairway.nodeagent.server.websocket import WebSocket

CLOSE = 255


class Channels:
    """The server's side of one connection, after the handshake. Pongs wait in `replies`."""

    def __init__(self) -> None:
        self._socket = WebSocket()
        self.replies = self._socket.replies

    def receive(self, data: bytes) -> list[Event]:
        """Events of what arrived; b"" means that the connection has ended."""
        events = [event for message in self._socket.receive(data) for event in _meaning(message)]
        return [*events, Left()] if self._socket.ended else events

    def message(self, channel: int, data: bytes) -> bytes:
        return self._socket.message(bytes([channel]) + data)

    def close(self, code: int = 1000) -> bytes:
        """Nothing if it is closed already."""
        return self._socket.close(code)


def _meaning(message: bytes) -> list[Event]:
    if not message:
        return []
    channel, data = message[0], message[1:]
    if channel == STDIN:
        return [Input(data)] if data else []
    if channel == CLOSE and data == bytes([STDIN]):
        return [InputEnd()]
    return resize(data) if channel == RESIZE else []
