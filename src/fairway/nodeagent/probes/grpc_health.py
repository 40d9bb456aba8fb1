"""`grpc.health.v1.Health/Check` over HTTP/2 without TLS, by hand and without I/O: one unary call, no more.

The request's headers are literals, which needs no compression. Of the answer only the message counts: a
server that is healthy says SERVING in it; one that refuses the call sends none. So answers' headers, the only
part that would need HPACK, are never read.
"""

from __future__ import annotations

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, END_HEADERS, ACK, PADDED = 1, 4, 1, 8
STREAM = 1
STATUSES = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
LARGEST_ANSWER = 64 * 1024


class NotGrpc(Exception):
    """What answers there does not speak gRPC."""


def request(authority: str, service: str) -> bytes:
    headers = (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/grpc.health.v1.Health/Check"),
        (":authority", authority),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("user-agent", "kube-probe/1.37"),
    )
    block = b"".join(b"\0" + _text(name.encode()) + _text(value.encode()) for name, value in headers)
    name = service.encode()
    message = b"\x0a" + _varint(len(name)) + name if name else b""
    body = struct.pack(">BI", 0, len(message)) + message
    return (
        PREFACE
        + frame(SETTINGS, 0, 0, b"")
        + frame(HEADERS, END_HEADERS, STREAM, block)
        + frame(DATA, END_STREAM, STREAM, body)
    )


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _text(text: bytes) -> bytes:
    """A literal string of HPACK (RFC 7541, 5.2), its length an integer with a prefix of 7 bits."""
    if len(text) < 127:
        return bytes([len(text)]) + text
    return b"\x7f" + _varint(len(text) - 127) + text


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first: HPACK's and protobuf's way alike."""
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


class Answer:
    """Fed with what arrives; `status` is what the message says, once `ended`; `replies` acknowledge."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._message = bytearray()
        self.replies: list[bytes] = []
        self.ended = False

    @property
    def status(self) -> str:
        """Empty if there was no message, as from a server that doesn't know the service or the call."""
        if len(self._message) < 5:
            return ""
        (length,) = struct.unpack_from(">I", self._message, 1)
        body = bytes(self._message[5 : 5 + length])
        number = body[1] if len(body) >= 2 and body[0] == 0x08 else 0
        return STATUSES.get(number, str(number))

    def receive(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= 9 and not self.ended:
            length = int.from_bytes(self._buffer[:3], "big")
            kind, flags, stream = struct.unpack_from(">BBI", self._buffer, 3)
            if length > LARGEST_ANSWER:
                raise NotGrpc("the answer is not HTTP/2")
            if len(self._buffer) < 9 + length:
                return
            payload = bytes(self._buffer[9 : 9 + length])
            del self._buffer[: 9 + length]
            self._frame(kind, flags, stream & 0x7FFFFFFF, payload)

    def _frame(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == SETTINGS and not flags & ACK:
            self.replies.append(frame(SETTINGS, ACK, 0, b""))
        elif kind == PING and not flags & ACK:
            self.replies.append(frame(PING, ACK, 0, payload))
        elif kind == DATA and stream == STREAM:
            self._message += payload[1 : len(payload) - payload[0]] if flags & PADDED else payload
        last = kind in (DATA, HEADERS) and flags & END_STREAM
        if kind == GOAWAY or (stream == STREAM and (last or kind == RST_STREAM)):
            self.ended = True
