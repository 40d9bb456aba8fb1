"""Asking with real packets: one connection, one datagram or one ping, and what came of it.

All functions work in the network namespace of the calling thread.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.behaviour.expectations import Answer, Kind

_KINDS = {
    errno.ECONNREFUSED: Kind.REFUSED,
    errno.ECONNRESET: Kind.BROKEN,
    errno.EPERM: Kind.FORBIDDEN,
    errno.EACCES: Kind.FORBIDDEN,
    errno.EHOSTUNREACH: Kind.UNREACHABLE,
    errno.ENETUNREACH: Kind.UNREACHABLE,
    errno.ENOPROTOOPT: Kind.UNREACHABLE,
}
_SORTS = {
    "tcp": (socket.SOCK_STREAM, 0),
    "udp": (socket.SOCK_DGRAM, 0),
    "sctp": (socket.SOCK_STREAM, socket.IPPROTO_SCTP),
}


def ask(protocol: str, address: str, port: int, source: str, patience: float) -> Answer:
    try:
        if protocol == "icmp":
            return _ping(address, source, patience)
        with opened(protocol, address, port, source, patience) as connection:
            return answer(connection, protocol)
    except TimeoutError as error:
        # The kernel's own time limit comes with an errno, ours without; both mean silence.
        del error
        return Answer(Kind.DROPPED)
    except OSError as error:
        return Answer(_kind(error))


@contextmanager
def opened(protocol: str, address: str, port: int, source: str, patience: float) -> Iterator[socket.socket]:
    kind, number = _SORTS[protocol]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, kind, number) as connection:
        connection.settimeout(patience)
        if source:
            connection.bind((source, 0))
        connection.connect((address, port))
        yield connection


def answer(connection: socket.socket, protocol: str) -> Answer:
    """Servers say their name and whom they see."""
    if protocol == "udp":
        connection.send(b"?")
    words = connection.recv(4096).decode().split()
    return Answer(Kind.REACHED, words[0], words[1]) if len(words) == 2 else Answer(Kind.BROKEN)


def again(connection: socket.socket) -> Answer:
    """Another datagram of the same flow."""
    try:
        return answer(connection, "udp")
    except TimeoutError:
        return Answer(Kind.DROPPED)
    except OSError as error:
        return Answer(_kind(error))


def _kind(error: OSError) -> Kind:
    if error.errno not in _KINDS:
        raise error
    return _KINDS[error.errno]


def _ping(address: str, source: str, patience: float) -> Answer:
    """An echo request with a number of our own; errors and other people's replies don't count."""
    six = ":" in address
    family, protocol = (
        (socket.AF_INET6, socket.IPPROTO_ICMPV6) if six else (socket.AF_INET, socket.IPPROTO_ICMP)
    )
    number = struct.pack(">H", (os.getpid() ^ time.monotonic_ns()) & 0xFFFF)
    request = _echo_request(128 if six else 8, number)
    with socket.socket(family, socket.SOCK_RAW, protocol) as raw:
        if source:
            raw.bind((source, 0))
        raw.sendto(request, (address, 0))
        deadline = time.monotonic() + patience
        while (left := deadline - time.monotonic()) > 0:
            raw.settimeout(left)
            packet, sender = raw.recvfrom(4096)
            message = packet if six else packet[(packet[0] & 15) * 4 :]
            if sender[0] == address and message[0] == (129 if six else 0) and message[4:6] == number:
                return Answer(Kind.REACHED)
    return Answer(Kind.DROPPED)


def _echo_request(kind: int, number: bytes) -> bytes:
    body = number + b"\0\1fairway!"
    total = sum(struct.unpack(f">{len(body) // 2}H", body)) + (kind << 8)
    total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">BBH", kind, 0, ~total & 0xFFFF) + body
