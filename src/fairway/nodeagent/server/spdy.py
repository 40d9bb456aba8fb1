"""SPDY/3.1 without I/O, as far as Kubernetes' streams need it: bytes in, events out; calls in, bytes out.

What answers a frame at once (pings) waits in `replies`. There is no flow control: the library that kubectl is
built on neither keeps windows nor understands WINDOW_UPDATE, so back-pressure is that of the connection.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from fairway.nodeagent.server.spdy_headers import BadHeaders, HeaderReader, HeaderWriter

VERSION = 3
SYN_STREAM, SYN_REPLY, RST_STREAM, SETTINGS, PING, GOAWAY, HEADERS, WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9
FIN = 1
INVALID_STREAM, REFUSED_STREAM, CANCEL = 2, 3, 5
LARGEST_CONTROL_FRAME = 128 * 1024
# Data is cut into frames of this size, so that one busy stream doesn't keep the others waiting.
PIECE = 32 * 1024


@dataclass(frozen=True, slots=True)
class Opened:
    """The other side has opened a stream; it is to be answered by `reply` or `reset`."""

    stream: int
    headers: Mapping[str, str]
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Replied:
    stream: int


@dataclass(frozen=True, slots=True)
class Data:
    stream: int
    data: bytes
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    stream: int


@dataclass(frozen=True, slots=True)
class GoneAway:
    """The other side opens no more streams; those there are go on."""


Event = Opened | Replied | Data | Reset | GoneAway


class SpdyError(Exception):
    """Bytes that are not SPDY/3.1; the connection is of no use any more."""


class SpdyConnection:
    """One side of a connection. Servers open streams with even numbers, clients with odd ones."""

    def __init__(self, client: bool = False) -> None:
        self._buffer = bytearray()
        self._reader, self._writer = HeaderReader(), HeaderWriter()
        self._own = int(client)
        self._next_stream = 1 if client else 2
        self._last_opened = 0
        self.replies: list[bytes] = []

    # -- in ----------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Event]:
        self._buffer += data
        events: list[Event] = []
        while len(self._buffer) >= 8:
            first, second = struct.unpack_from(">II", self._buffer)
            flags, length = second >> 24, second & 0xFFFFFF
            if first >> 31 and length > LARGEST_CONTROL_FRAME:
                raise SpdyError(f"a control frame of {length} bytes")
            if len(self._buffer) < 8 + length:
                break
            payload = bytes(self._buffer[8 : 8 + length])
            del self._buffer[: 8 + length]
            if event := self._frame(first, flags, payload):
                events.append(event)
        return events

    def _frame(self, first: int, flags: int, payload: bytes) -> Event | None:
        if not first >> 31:
            return Data(first, payload, bool(flags & FIN))
        if (first >> 16) & 0x7FFF != VERSION:
            raise SpdyError(f"SPDY version {(first >> 16) & 0x7FFF}")
        try:
            return self._control(first & 0xFFFF, flags, payload)
        except (struct.error, BadHeaders) as error:
            raise SpdyError(str(error)) from error

    def _control(self, kind: int, flags: int, payload: bytes) -> Event | None:
        if kind == SYN_STREAM:
            return self._opened(flags, payload)
        if kind in (SYN_REPLY, HEADERS):
            # Read even where nobody cares: the compression goes on from frame to frame.
            self._reader.headers(payload[4:])
            return Replied(_number(payload)) if kind == SYN_REPLY else None
        if kind == RST_STREAM:
            return Reset(_number(payload))
        if kind == PING and _number(payload) % 2 != self._own:
            self.replies.append(_control(PING, 0, payload[:4]))
        return GoneAway() if kind == GOAWAY else None

    def _opened(self, flags: int, payload: bytes) -> Opened:
        stream = _number(payload)
        headers = self._reader.headers(payload[10:])
        if stream % 2 == self._own or stream <= self._last_opened:
            raise SpdyError(f"stream {stream} was opened after {self._last_opened}")
        self._last_opened = stream
        return Opened(stream, headers, bool(flags & FIN))

    # -- out ---------------------------------------------------------------------------------------------

    def open(self, headers: Mapping[str, str], ended: bool = False) -> tuple[int, bytes]:
        stream, self._next_stream = self._next_stream, self._next_stream + 2
        fields = struct.pack(">IIBB", stream, 0, 0, 0)
        return stream, _control(SYN_STREAM, FIN if ended else 0, fields + self._writer.block(headers))

    def reply(self, stream: int) -> bytes:
        return _control(SYN_REPLY, 0, struct.pack(">I", stream) + self._writer.block({}))

    def data(self, stream: int, data: bytes, ended: bool = False) -> bytes:
        """With `ended` nothing more can be sent on this stream."""
        pieces = [data[start : start + PIECE] for start in range(0, len(data), PIECE)] or [b""]
        if not data and not ended:
            return b""
        last = len(pieces) - 1
        return b"".join(
            struct.pack(">II", stream, (FIN if ended and index == last else 0) << 24 | len(piece)) + piece
            for index, piece in enumerate(pieces)
        )

    def reset(self, stream: int, status: int = CANCEL) -> bytes:
        return _control(RST_STREAM, 0, struct.pack(">II", stream, status))

    def go_away(self) -> bytes:
        return _control(GOAWAY, 0, struct.pack(">II", self._last_opened, 0))


def _number(payload: bytes) -> int:
    (number,) = struct.unpack_from(">I", payload)
    return int(number & 0x7FFFFFFF)


def _control(kind: int, flags: int, payload: bytes) -> bytes:
    return struct.pack(">HHI", 0x8000 | VERSION, kind, flags << 24 | len(payload)) + payload
