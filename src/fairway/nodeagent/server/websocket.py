"""The server's side of a WebSocket after the handshake, without I/O: bytes in, whole messages out."""

from __future__ import annotations

from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage
from wsproto.utilities import RemoteProtocolError, generate_accept_token


def accept_headers(key: str, subprotocol: str) -> tuple[tuple[str, str], ...]:
    return (
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Accept", generate_accept_token(key.encode()).decode()),
        ("Sec-WebSocket-Protocol", subprotocol),
    )


class WebSocket:
    """Pongs and the answer to a close wait in `replies`; `ended` once there is nothing more to come."""

    def __init__(self) -> None:
        self._connection = Connection(ConnectionType.SERVER)
        self._partial = bytearray()
        self.replies: list[bytes] = []
        self.ended = False

    def receive(self, data: bytes) -> list[bytes]:
        """Messages that are complete now; b"" means that the connection has ended."""
        messages: list[bytes] = []
        try:
            self.ended = self.ended or not data
            self._connection.receive_data(data or None)
            for event in self._connection.events():
                if isinstance(event, BytesMessage | TextMessage):
                    messages += self._part(event)
                elif isinstance(event, Ping):
                    self.replies.append(self._connection.send(event.response()))
                elif isinstance(event, CloseConnection):
                    self.replies.append(self.close(1000))
                    self.ended = True
        except RemoteProtocolError:
            self.ended = True
        return messages

    def _part(self, event: BytesMessage | TextMessage) -> list[bytes]:
        """Messages may come in fragments; only a whole one has a meaning."""
        self._partial += event.data.encode() if isinstance(event.data, str) else event.data
        if not event.message_finished:
            return []
        message, self._partial = bytes(self._partial), bytearray()
        return [message]

    def message(self, data: bytes) -> bytes:
        return self._connection.send(BytesMessage(data=data))

    def close(self, code: int = 1000) -> bytes:
        """Nothing if it is closed already."""
        if self._connection.state in (ConnectionState.OPEN, ConnectionState.REMOTE_CLOSING):
            return self._connection.send(CloseConnection(code=code))
        return b""
