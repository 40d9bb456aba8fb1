"""Many netlink requests in few system calls, to any part of the kernel that netlink reaches.

Only framing belongs here: what a request means is known to those who make it. Requests of one batch are
carried out in order; each that the kernel refuses is reported, and the others are carried out all the same.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

ROUTE, NETFILTER, GENERIC = 0, 12, 16
_ERROR, _DONE = 2, 3
_REQUEST, _ACK, _DUMP = 0x1, 0x4, 0x300
_HEADER = struct.Struct("=IHHII")
_SOL_NETLINK, _CAP_ACK = 270, 10
# The kernel reads a whole batch before we read an answer, so answers must fit into the socket's buffer.
_BATCH = 128


class Request(NamedTuple):
    """A message without its header; `flags` beyond those that every request has."""

    kind: int
    body: bytes
    flags: int = 0


class RequestRefused(OSError):
    """The kernel refused a request; `errno` says why."""


class Socket:
    """One conversation, in the network namespace that it was opened in."""

    def __init__(self, protocol: int) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        self._socket.setsockopt(_SOL_NETLINK, _CAP_ACK, 1)
        self._socket.bind((0, 0))
        self._socket.settimeout(30)
        self._sequence = 0

    def close(self) -> None:
        self._socket.close()

    def order(self, requests: Sequence[Request]) -> dict[int, int]:
        """Returns the error numbers of the requests that were refused, by their position."""
        refused: dict[int, int] = {}
        for start in range(0, len(requests), _BATCH):
            chunk = requests[start : start + _BATCH]
            first = self._send(chunk, acknowledge_last=True)
            for number, code in self._verdicts(first + len(chunk) - 1):
                if code:
                    refused[start + number - first] = code
        return refused

    def demand(self, request: Request) -> None:
        """One request that must succeed."""
        for code in self.order([request]).values():
            raise RequestRefused(code, os.strerror(code))

    def ask(self, request: Request, dump: bool = False) -> list[bytes]:
        """The bodies of all messages of the answer."""
        flagged = request._replace(flags=request.flags | (_DUMP if dump else 0))
        number = self._send([flagged], acknowledge_last=not dump)
        return list(self._answers(number))

    def _send(self, requests: Sequence[Request], acknowledge_last: bool) -> int:
        """Returns the number of the first one."""
        first = self._sequence + 1
        self._sequence += len(requests)
        parts = []
        for number, request in enumerate(requests, first):
            flags = _REQUEST | request.flags
            flags |= _ACK if acknowledge_last and number == self._sequence else 0
            length = _HEADER.size + len(request.body)
            parts.append(_HEADER.pack(length, request.kind, flags, number & 0xFFFFFFFF, 0) + request.body)
            parts.append(b"\0" * (-length % 4))
        self._socket.send(b"".join(parts))
        return first

    def _verdicts(self, last: int) -> Iterator[tuple[int, int]]:
        """Errors as they come, up to the verdict on the last request, which always comes."""
        for kind, number, body in self._messages():
            if kind == _ERROR:
                yield number, -struct.unpack_from("=i", body)[0]
                if number == last:
                    return

    def _answers(self, asked: int) -> Iterator[bytes]:
        for kind, number, body in self._messages():
            if number != asked:
                continue
            if kind == _DONE:
                return
            if kind == _ERROR:
                code = -struct.unpack_from("=i", body)[0]
                if code:
                    raise RequestRefused(code, os.strerror(code))
                return
            yield body

    def _messages(self) -> Iterator[tuple[int, int, bytes]]:
        while True:
            data, at = self._socket.recv(1 << 18), 0
            while at + _HEADER.size <= len(data):
                length, kind, _, number, _ = _HEADER.unpack_from(data, at)
                yield kind, number, data[at + _HEADER.size : at + length]
                at += (length + 3) & ~3
