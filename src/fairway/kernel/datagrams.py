"""Many datagrams in one system call: `recvmmsg` and `sendmmsg`, which Python's socket module lacks.

Everything lies in memory that is set up once; answers go back to where the datagram of that seat came from,
and from the address it was sent to. What the bytes mean is not known here.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import socket
import struct
from collections.abc import Iterator, Sequence

SEATS = 64
SLOT = 4096
"""Octets of a seat, for coming and going; larger answers are sent one by one."""

_SOURCE = 32
"""Octets of a seat's source, a `struct sockaddr`."""

_IP_PKTINFO = 8
"""Linux' number; Python's socket module has no name for it."""
_HEADER = struct.Struct("@QI4xQQQQi4xI4x")
"""`struct mmsghdr` where pointers have 8 octets: name, its length, vectors, control, flags, length."""
_NAME_LENGTH = {socket.AF_INET: 16, socket.AF_INET6: 28}
_CONTROL = 64
_CONTROL_LENGTH = {socket.AF_INET: 32, socket.AF_INET6: 40}
_INTERFACE = {socket.AF_INET: 4, socket.AF_INET6: 8}
"""Where the index of the interface stands in a seat's packet info, counted in 4 octets."""

_libc = ctypes.CDLL(None, use_errno=True)
_recvmmsg, _sendmmsg = _libc.recvmmsg, _libc.sendmmsg
_recvmmsg.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_void_p]
_sendmmsg.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]

Control = list[tuple[int, int, bytes]]
Source = tuple[bytes]
"""The packed address alone: a tuple, as that is what many are read as in one go."""


def announce_destination(sock: socket.socket) -> None:
    """Makes the kernel say to which address each datagram was sent."""
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    else:
        sock.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)


class DatagramBatch:
    """The seats of one socket. `wildcard`: it listens on all addresses, so answers must name their source."""

    def __init__(self, sock: socket.socket, wildcard: bool) -> None:
        self._socket = sock
        self._family = socket.AddressFamily(sock.family)
        self._descriptor = sock.fileno()
        self._wildcard = wildcard
        if wildcard:
            announce_destination(sock)
        self.received = mmap.mmap(-1, SEATS * SLOT)
        """Slicing gives bytes, in one copy; seat N begins at N * SLOT."""
        self._sent = mmap.mmap(-1, SEATS * SLOT)
        self._sources = mmap.mmap(-1, SEATS * _SOURCE)
        self._source = struct.Struct("4x4s24x" if self._family == socket.AF_INET else "8x16s8x")
        """A seat's source, as far as its packed address goes."""
        self._controls = mmap.mmap(-1, SEATS * _CONTROL)
        self._vectors = mmap.mmap(-1, SEATS * 32)
        self._coming = mmap.mmap(-1, SEATS * _HEADER.size)
        self._going = mmap.mmap(-1, SEATS * _HEADER.size)
        self._lay_out()
        self.sizes = memoryview(self._coming).cast("B")[: SEATS * _HEADER.size].cast("I")[14::16]
        """How many octets came to each seat."""
        self._going_words = memoryview(self._going).cast("Q")
        self._vector_words = memoryview(self._vectors).cast("Q")
        self._control_words = memoryview(self._controls).cast("I")
        self._blank = self._coming[:]
        self._coming_at, self._going_at = _address(self._coming), _address(self._going)

    def _lay_out(self) -> None:
        names, controls = _address(self._sources), _address(self._controls)
        vectors, received, sent = _address(self._vectors), _address(self.received), _address(self._sent)
        length = _NAME_LENGTH[self._family]
        self._name_at = [names + seat * _SOURCE for seat in range(SEATS)]
        self._control_at = [controls + seat * _CONTROL for seat in range(SEATS)]
        room = _CONTROL if self._wildcard else 0
        reply = _CONTROL_LENGTH[self._family] if self._wildcard else 0
        for seat in range(SEATS):
            coming, going = vectors + seat * 32, vectors + seat * 32 + 16
            struct.pack_into(
                "@QQQQ", self._vectors, seat * 32, received + seat * SLOT, SLOT, sent + seat * SLOT, 0
            )
            at, name = seat * _HEADER.size, self._name_at[seat]
            control = self._control_at[seat] if self._wildcard else 0
            _HEADER.pack_into(self._coming, at, name, 32, coming, 1, control, room, 0, 0)
            _HEADER.pack_into(self._going, at, name, length, going, 1, control, reply, 0, 0)

    def receive(self) -> int:
        """How many datagrams came; 0 if none waits. They keep their seats until the next call."""
        # The kernel has written the lengths of names and controls over those we allow.
        self._coming[:] = self._blank
        count = _recvmmsg(self._descriptor, self._coming_at, SEATS, socket.MSG_DONTWAIT, None)
        if count >= 0:
            return int(count)
        code = ctypes.get_errno()
        if code in (errno.EAGAIN, errno.EINTR):
            return 0
        raise OSError(code, os.strerror(code))

    def send(self, answers: Sequence[tuple[int, bytes]]) -> None:
        """Answers by seat. One that can't be sent is left out: its receiver is gone, or will ask again."""
        sent, headers, vectors = self._sent, self._going_words, self._vector_words
        queued = 0
        for seat, message in answers:
            size = len(message)
            if size > SLOT:
                self._send_large(seat, message)
                continue
            at = queued * SLOT
            sent[at : at + size] = message
            vectors[queued * 4 + 3] = size
            headers[queued * 8] = self._name_at[seat]
            if self._wildcard:
                headers[queued * 8 + 4] = self._control_at[seat]
                self._control_words[seat * 16 + _INTERFACE[self._family]] = 0
            queued += 1
        done = 0
        while done < queued:
            count = _sendmmsg(self._descriptor, self._going_at + done * _HEADER.size, queued - done, 0)
            done += count if count > 0 else 1

    def _send_large(self, seat: int, message: bytes) -> None:
        try:
            self._socket.sendmsg([message], self.control(seat), 0, self.address(seat))
        except OSError:
            return

    def address(self, seat: int) -> tuple[str, int] | tuple[str, int, int, int]:
        """Where the datagram of a seat came from."""
        at = seat * _SOURCE
        port = int.from_bytes(self._sources[at + 2 : at + 4], "big")
        if self._family == socket.AF_INET:
            return socket.inet_ntop(socket.AF_INET, self._sources[at + 4 : at + 8]), port
        flow = int.from_bytes(self._sources[at + 4 : at + 8], "big")
        scope = struct.unpack_from("@I", self._sources, at + 24)[0]
        return socket.inet_ntop(socket.AF_INET6, self._sources[at + 8 : at + 24]), port, flow, scope

    def source(self, seat: int) -> Source:
        return self._source.unpack_from(self._sources, seat * _SOURCE)

    def sources(self, count: int) -> Iterator[Source]:
        """Who sent the datagrams of the first seats."""
        return self._source.iter_unpack(self._sources[: count * _SOURCE])

    def control(self, seat: int) -> Control:
        """What makes a later answer leave from the address that was asked."""
        if not self._wildcard:
            return []
        at = seat * _CONTROL + 16
        if self._family == socket.AF_INET:
            info = bytes(4) + self._controls[at + 4 : at + 8] + bytes(4)
            return [(socket.IPPROTO_IP, _IP_PKTINFO, info)]
        info = self._controls[at : at + 16] + bytes(4)
        return [(socket.IPPROTO_IPV6, socket.IPV6_PKTINFO, info)]


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))
