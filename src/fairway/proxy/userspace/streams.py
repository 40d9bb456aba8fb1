"""Bytes from one socket to another, one direction at a time, without waiting.

Little goes through one buffer that all share; much goes by splice(2) through a pipe, so that it never comes
to this process at all. Sockets are edge-triggered: a direction is pumped until nothing more can be moved.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket

from fairway.proxy.userspace.tally import Meter

# What says that a peer has ended, so that even a short read isn't the last one.
ENDING = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
_BUFFER = bytearray(1 << 16)
_VIEW = memoryview(_BUFFER)
_PIPE_SIZE = 1 << 20
# After this much in one direction it is worth a pipe.
_MUCH = 1 << 17
# Moves before others have their turn; one by splice may be a megabyte.
_ROUNDS, _SPLICES = 8, 2
_NOW = socket.MSG_DONTWAIT
_SPLICE = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK


class Pipes:
    """A pipe costs more to make than to keep."""

    def __init__(self, keep: int = 64) -> None:
        self._free: list[tuple[int, int]] = []
        self._keep = keep

    def take(self) -> tuple[int, int]:
        if self._free:
            return self._free.pop()
        made = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.fcntl(made[1], fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        except OSError:
            pass  # there are limits to the size of one and to the sum of all; a small one will do
        return made

    def give_back(self, pipe: tuple[int, int], empty: bool) -> None:
        if empty and len(self._free) < self._keep:
            self._free.append(pipe)
        else:
            os.close(pipe[0])
            os.close(pipe[1])


class Stream:
    """One direction. `pump` raises OSError when either side is broken."""

    __slots__ = ("_in_pipe", "_meter", "_moved", "_pending", "_pipe", "_pipes", "_source", "_target", "ended")

    def __init__(self, source: socket.socket, target: socket.socket, pipes: Pipes, meter: Meter) -> None:
        self._source, self._target, self._pipes, self._meter = source, target, pipes, meter
        self._pending: memoryview | None = None
        self._pipe: tuple[int, int] | None = None
        self._in_pipe = self._moved = 0
        self.ended = False

    @property
    def blocked(self) -> bool:
        """Whether it waits for the target to take what is here already."""
        return self._pending is not None or self._in_pipe > 0

    def pump(self, events: int) -> bool:
        """True if there is more to do at once."""
        if self.ended:
            return False
        try:
            return self._splice() if self._pipe is not None else self._copy(events)
        except BlockingIOError:
            return False

    def end_target(self) -> None:
        """The other direction may go on for long."""
        self._target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        if self._pipe is not None:
            self._pipes.give_back(self._pipe, empty=self._in_pipe == 0)
            self._pipe = None

    def _copy(self, events: int) -> bool:
        for _ in range(_ROUNDS):
            if self._pending is not None:
                self._send(self._pending)
                # What has come meanwhile was not looked at: read until there is nothing.
                events |= ENDING
            size = self._source.recv_into(_BUFFER, 0, _NOW)
            if size == 0:
                self.ended = True
                return False
            self._meter.size += size
            self._send(_VIEW[:size])
            self._moved += size
            if size < len(_BUFFER) and not events & ENDING:
                return False
            if self._moved >= _MUCH:
                self._begin_splicing()
                return True
        return True

    def _begin_splicing(self) -> None:
        """splice knows no flag for sockets that must not wait."""
        self._source.setblocking(False)
        self._target.setblocking(False)
        self._pipe = self._pipes.take()

    def _send(self, data: memoryview) -> None:
        """All of it, or what is left stays pending."""
        try:
            sent = self._target.send(data, _NOW)
        except BlockingIOError:
            sent = 0
        if sent == len(data):
            self._pending = None
            return
        # The shared buffer is the next one's.
        self._pending = memoryview(bytes(data[sent:]))
        raise BlockingIOError

    def _splice(self) -> bool:
        assert self._pipe is not None
        reading, writing = self._pipe
        source, target = self._source.fileno(), self._target.fileno()
        for _ in range(_SPLICES):
            while self._in_pipe:
                self._in_pipe -= os.splice(reading, target, self._in_pipe, flags=_SPLICE)
            self._in_pipe = os.splice(source, writing, _PIPE_SIZE, flags=_SPLICE)
            self._meter.size += self._in_pipe
            if self._in_pipe == 0:
                self.ended = True
                return False
        return True
