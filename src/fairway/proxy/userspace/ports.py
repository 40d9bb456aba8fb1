"""Addresses and ports of this node that relays listen on.

The range belongs to nobody else: rules lead there, and refuse whoever comes there by another way. Ports lie
above the kernel's own choice for outgoing connections, which must not run out of them, and above node ports;
when those of one address are used up, the next address follows.
"""

from __future__ import annotations

import errno
import socket

from fairway.proxy.userspace.messages import Bound

FIRST, LAST = 61000, 65535
_ADDRESSES = 250
_FREEBIND_V6 = 78
_BACKLOG = 4096
_PROBE_AFTER, _PROBE_EVERY = 60, 15


class PortsUsedUp(OSError):
    """Every address and port is taken: about a million of them."""


class Ports:
    """Goes round, so that a port rests as long as possible before another Service has it."""

    def __init__(self) -> None:
        self._next = {(six, udp): 0 for six in (False, True) for udp in (False, True)}

    def open(self, six: bool, udp: bool) -> tuple[socket.socket, Bound]:
        total = (LAST - FIRST + 1) * _ADDRESSES
        for _ in range(total):
            number = self._next[six, udp]
            self._next[six, udp] = (number + 1) % total
            bound = place(number, six)
            opened = _bind(bound, six, udp)
            if opened is not None:
                return opened, bound
        raise PortsUsedUp(errno.EADDRINUSE, "no port is left")


def place(number: int, six: bool) -> Bound:
    address, port = divmod(number, LAST - FIRST + 1)
    host = f"fd00:fa17:a796::{address + 1:x}" if six else f"169.254.96.{address + 1}"
    return Bound(host, FIRST + port)


def _bind(bound: Bound, six: bool, udp: bool) -> socket.socket | None:
    """None if someone else has it."""
    kind = (socket.SOCK_DGRAM if udp else socket.SOCK_STREAM) | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
    opened = socket.socket(socket.AF_INET6 if six else socket.AF_INET, kind)
    try:
        if six:
            opened.setsockopt(socket.IPPROTO_IPV6, _FREEBIND_V6, 1)
        if not udp:
            _prepare_listening(opened)
        opened.bind(bound)
        if not udp:
            opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return None
    return opened


def _prepare_listening(opened: socket.socket) -> None:
    """Connections inherit the options of the socket they came by."""
    # Connections of a listener that is gone may still hold the port.
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    prepare_carrying(opened)


def prepare_carrying(opened: socket.socket) -> None:
    """Small pieces go at once. And as clients' own probes end here, it is on us to notice a dead peer."""
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_AFTER)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_EVERY)
