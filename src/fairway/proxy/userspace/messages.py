"""What the proxy and its relay tell each other, over a socket of this network namespace.

Values only. A frame is four bytes of length and the message; every request has one answer. A relay of another
`VERSION` is told to retire, and another one is started; so `Hello`, `Retire` and `End` must stay as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

VERSION = 2
# Abstract, so it is gone with its owner; and such names belong to a network namespace, as the relay does.
SOCKET_NAME = "\0fairway-userspace-relay"
# Where relays listen: addresses that belong to nobody else.
RANGE_V4, RANGE_V6 = "169.254.96.0/24", "fd00:fa17:a796::/64"
_LENGTH = struct.Struct("!I")


class Backend(NamedTuple):
    address: str
    port: int
    transparent: bool = False
    """Whether it is to see clients from outside the cluster as they are, rather than the node."""


class Listener(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A port to relay from. `key` names it for good; its port stays while it is served."""

    key: str
    udp: bool
    six: bool
    backends: tuple[Backend, ...]
    affinity_seconds: int = 0
    inside: tuple[str, ...] = ()
    """Ranges of clients that are inside the cluster."""


class Bound(NamedTuple):
    """Where a listener was opened; port 0 if it could not be."""

    address: str
    port: int


class Counted(NamedTuple):
    """What a listener has carried; bytes as clients sent and received them."""

    key: str
    connections: int
    received: int
    sent: int


class Hello(msgspec.Struct, frozen=True, tag=True, array_like=True):
    version: int


class Serve(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Open these, or give those that are open their new backends. Answered with `Opened`, in order."""

    listeners: tuple[Listener, ...]


class Forget(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Close these to new clients. Connections that exist go on."""

    keys: tuple[str, ...]


class KeepOnly(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Close all others to new clients."""

    keys: tuple[str, ...]


class Count(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Tell what the listeners have carried. Answered with those that have carried anything."""


class Retire(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Close everything to new clients, make room for a successor, and end with the last connection."""


class End(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """End at once."""


class Opened(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The answer to every request, with `bound` to `Serve` and `counted` to `Count`; `errors` are the relay's
    own since the last.
    """

    version: int = VERSION
    bound: tuple[Bound, ...] = ()
    errors: tuple[str, ...] = ()
    counted: tuple[Counted, ...] = ()


Request = Hello | Serve | Forget | KeepOnly | Count | Retire | End

_encode = msgspec.msgpack.Encoder().encode
_requests = msgspec.msgpack.Decoder(Request)
_answers = msgspec.msgpack.Decoder(Opened)


def frame(message: Request | Opened) -> bytes:
    body = _encode(message)
    return _LENGTH.pack(len(body)) + body


def request(body: bytes) -> Request:
    decoded: Request = _requests.decode(body)
    return decoded


def answer(body: bytes) -> Opened:
    return _answers.decode(body)


class Frames:
    """Takes bytes as they come, gives whole messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._buffer)[0]
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield body
