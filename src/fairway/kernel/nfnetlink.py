"""Netfilter's netlink, as bytes: requests, dumps and attributes.

Only framing belongs here; what the messages of conntrack and nf_tables mean is in their own modules.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator

_NETLINK_NETFILTER = 12
_NETLINK, _ADD_MEMBERSHIP, _DROP_MEMBERSHIP = 270, 1, 2
_ERROR, _DONE = 2, 3
REQUEST, _ACK, _DUMP = 0x1, 0x4, 0x300
_DUMP_INTERRUPTED = 0x10
NESTED = 0x8000
_HEADER = struct.Struct("=IHHII")
# struct nfgenmsg: family, version, resource id
_GENERAL = struct.Struct(">BBH")
_BODY = _HEADER.size + _GENERAL.size


FAMILIES = {"inet": 1, "ip": socket.AF_INET, "ip6": socket.AF_INET6}


class NetfilterError(OSError):
    """The kernel refused a request; `errno` says why."""


class Interrupted(Exception):
    """Something changed while it was being dumped: what came is not one consistent state."""


def opened() -> socket.socket:
    """In the namespace of the calling thread, where it stays."""
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC
    made = socket.socket(socket.AF_NETLINK, kind, _NETLINK_NETFILTER)
    made.bind((0, 0))
    return made


def message(
    kind: int, flags: int, family: int, attributes: bytes, sequence: int = 0, resource: int = 0
) -> bytes:
    header = _HEADER.pack(_BODY + len(attributes), kind, flags, sequence, 0)
    return header + _GENERAL.pack(family, 0, resource) + attributes


class Socket:
    """One conversation with netfilter, in the namespace it was opened in."""

    def __init__(self) -> None:
        self._socket = opened()
        self._socket.settimeout(10)
        self._sequence = 0

    def close(self) -> None:
        self._socket.close()

    def get(self, kind: int, family: int = 0, attributes: bytes = b"") -> bytes:
        """The attributes of the one answer."""
        self._send(kind, REQUEST, family, attributes)
        return next(self._answers(once=True))

    def order(self, kind: int, family: int = 0, attributes: bytes = b"") -> None:
        """A request that is only acknowledged."""
        self._send(kind, REQUEST | _ACK, family, attributes)
        for _ in self._answers(once=True):
            return

    def dump(
        self, kind: int, family: int = 0, attributes: bytes = b"", consistent: bool = True
    ) -> list[bytes]:
        """The attributes of every message of the answer; whatever came of it if it needn't be consistent."""
        self._send(kind, REQUEST | _DUMP, family, attributes)
        found: list[bytes] = []
        try:
            found += self._answers(once=False)
        except Interrupted:
            if consistent:
                raise
        return found

    def _send(self, kind: int, flags: int, family: int, attributes: bytes) -> None:
        self._sequence = (self._sequence + 1) & 0xFFFFFFFF
        self._socket.send(message(kind, flags, family, attributes, self._sequence))

    def _answers(self, once: bool) -> Iterator[bytes]:
        """Reads to the end of a dump even if it is inconsistent, so that the next request starts clean."""
        interrupted = False
        while True:
            data, at = self._socket.recv(1 << 18), 0
            while at < len(data):
                length, kind, flags, sequence, _ = _HEADER.unpack_from(data, at)
                end, body = at + length, at + _BODY
                at = (end + 3) & ~3
                if sequence != self._sequence:
                    continue
                interrupted = interrupted or bool(flags & _DUMP_INTERRUPTED)
                if kind == _ERROR:
                    _raise_if_refused(data, body - _GENERAL.size)
                    yield b""
                elif kind == _DONE:
                    if interrupted:
                        raise Interrupted
                    return
                else:
                    yield data[body:end]
                if once:
                    return


class Announcements:
    """What the kernel tells everyone in a group (NFNLGRP_…), in the namespace it was opened in."""

    def __init__(self, group: int, buffer: int = 1 << 17) -> None:
        self._socket = opened()
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._group = group
        self.join()

    def join(self) -> None:
        self._socket.setsockopt(_NETLINK, _ADD_MEMBERSHIP, self._group)

    def leave(self) -> None:
        """Hear nothing until it joins again."""
        self._socket.setsockopt(_NETLINK, _DROP_MEMBERSHIP, self._group)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def take(self) -> Iterator[tuple[int, bytes] | None]:
        """The kind and the attributes of every message that waits; None where some were lost."""
        while True:
            try:
                data = self._socket.recv(1 << 18)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                yield None
                continue
            yield from _messages(data)


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _BODY <= len(data):
        length, kind, _, _, _ = _HEADER.unpack_from(data, at)
        yield kind, data[at + _BODY : at + length]
        at += (max(length, _BODY) + 3) & ~3


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", len(value) + 4, kind) + value + b"\0" * (-len(value) % 4)


def nested(kind: int, *attributes: bytes) -> bytes:
    return attribute(kind | NESTED, b"".join(attributes))


def text(kind: int, value: str) -> bytes:
    return attribute(kind, value.encode() + b"\0")


def number(kind: int, value: int) -> bytes:
    """Numbers are big-endian throughout netfilter's netlink."""
    return attribute(kind, struct.pack(">I", value))


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at, end = 0, len(data)
    while at + 4 <= end:
        length, kind = struct.unpack_from("=HH", data, at)
        yield kind & 0x3FFF, data[at + 4 : at + length]
        at += (max(length, 4) + 3) & ~3


def _raise_if_refused(data: bytes, at: int) -> None:
    code = -struct.unpack_from("=i", data, at)[0]
    if code:
        raise NetfilterError(code, os.strerror(code))
