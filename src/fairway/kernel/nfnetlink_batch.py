"""Transactions over netfilter's netlink: many requests, of which all take effect or none."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fairway.kernel.nfnetlink import REQUEST, NetfilterError, message, opened

_SEND_BUFFER_FORCE = 32
_BEGIN, _END = 0x10, 0x11
_ERROR = 2
# struct nlmsghdr, then struct nlmsgerr: a negative error number
_ANSWER = struct.Struct("=IHHIIi")
# What the kernel keeps for itself of a buffer.
_RESERVED = 32


class Request(NamedTuple):
    kind: int
    flags: int
    family: int
    attributes: bytes


class Transactions:
    """One conversation with a subsystem of netfilter, in the namespace it was opened in."""

    def __init__(self, subsystem: int) -> None:
        self._begin, self._end = (
            message(kind, REQUEST, 0, b"", resource=subsystem) for kind in (_BEGIN, _END)
        )
        self._socket = opened()
        self._socket.setblocking(False)

    def close(self) -> None:
        self._socket.close()

    def commit(self, requests: Iterable[Request]) -> int:
        """As one transaction if the kernel takes that much at once; returns how many it took."""
        framed = [
            message(kind, flags | REQUEST, family, attributes) for kind, flags, family, attributes in requests
        ]
        batches = list(portions(framed, self._room(sum(map(len, framed)))))
        for batch in batches:
            self._socket.send(b"".join((self._begin, *batch, self._end)))
            self._raise_if_refused()
        return len(batches)

    def _room(self, size: int) -> int:
        """Make room for that many bytes; without root there is only as much as everyone gets."""
        wanted = size + len(self._begin) + len(self._end) + _RESERVED
        with contextlib.suppress(PermissionError):
            self._socket.setsockopt(socket.SOL_SOCKET, _SEND_BUFFER_FORCE, wanted)
        return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) - (wanted - size)

    def _raise_if_refused(self) -> None:
        """A transaction is done when it has been sent; only refusals are answered."""
        codes: list[int] = []
        with contextlib.suppress(BlockingIOError):
            while True:
                _, kind, _, _, _, code = _ANSWER.unpack_from(self._socket.recv(1 << 16))
                codes += [-code] if kind == _ERROR and code else []
        if codes:
            raise NetfilterError(codes[0], os.strerror(codes[0]))


def portions(parts: Iterable[bytes], most: int) -> Iterator[list[bytes]]:
    """As they come, in groups of at most so many bytes."""
    group: list[bytes] = []
    size = 0
    for part in parts:
        if group and size + len(part) > most:
            yield group
            group, size = [], 0
        group.append(part)
        size += len(part)
    if group:
        yield group
