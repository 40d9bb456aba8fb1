"""UDP: a listener, and for each client a socket of its own towards a backend.

A client's datagrams go to one backend until it has been silent for a while, or the backend is gone.
"""

from __future__ import annotations

import select
import socket
from typing import Any

from fairway.proxy.userspace.balancer import Balancer, Clock
from fairway.proxy.userspace.loop import Loop
from fairway.proxy.userspace.messages import Backend
from fairway.proxy.userspace.tally import Tally
from fairway.proxy.userspace.transparency import appear_as

IDLE_SECONDS = 60.0
_KIND = socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
_LARGEST = 1 << 16
_BATCH = 64
Address = tuple[Any, ...]


class UdpListener:
    def __init__(self, loop: Loop, listening: socket.socket, balancer: Balancer, clock: Clock) -> None:
        self._loop, self._listening, self._clock = loop, listening, clock
        self.balancer, self.tally = balancer, Tally()
        self._sessions: dict[Address, _Session] = {}
        loop.add(listening, select.EPOLLIN, self._receive)

    @property
    def sessions(self) -> int:
        return len(self._sessions)

    def close(self) -> None:
        for client in list(self._sessions):
            self._end(client)
        self._loop.discard(self._listening)

    def backends_changed(self) -> None:
        """Without this a busy client would send to a dead backend for ever."""
        for client, session in list(self._sessions.items()):
            if session.backend not in self.balancer:
                self._end(client)

    def end_idle(self) -> None:
        oldest = self._clock() - IDLE_SECONDS
        for client, session in list(self._sessions.items()):
            if session.used < oldest:
                self._end(client)

    def answer(self, client: Address, data: bytes) -> None:
        self.tally.sent.size += len(data)
        try:
            self._listening.sendto(data, client)
        except OSError:
            pass  # as lost as any datagram may be

    def lost(self, client: Address) -> None:
        """Its backend refuses; the next datagram goes to another one."""
        self._end(client)
        self.balancer.release(client[0])

    def _receive(self, events: int) -> None:
        for _ in range(_BATCH):
            try:
                data, client = self._listening.recvfrom(_LARGEST)
            except OSError:
                return
            session = self._sessions.get(client) or self._begin(client)
            if session is not None:
                self.tally.received.size += len(data)
                session.used = self._clock()
                session.send(data)

    def _begin(self, client: Address) -> _Session | None:
        backend = self.balancer.choose(client[0])
        if backend is None:
            return None
        try:
            session = _Session(self, self._loop, client, backend, self._listening.family)
        except OSError:
            return None
        self._sessions[client] = session
        self.tally.connections += 1
        return session

    def _end(self, client: Address) -> None:
        session = self._sessions.pop(client, None)
        if session is not None:
            self._loop.discard(session.socket)


class _Session:
    __slots__ = ("_client", "_listener", "backend", "socket", "used")

    def __init__(
        self, listener: UdpListener, loop: Loop, client: Address, backend: Backend, family: int
    ) -> None:
        self._listener, self._client, self.backend = listener, client, backend
        self.used = 0.0
        self.socket = socket.socket(family, _KIND)
        try:
            if backend.transparent and listener.balancer.shows(client[0], backend):
                appear_as(self.socket, client[0])
            self.socket.connect((backend.address, backend.port))
        except OSError:
            self.socket.close()
            raise
        loop.add(self.socket, select.EPOLLIN, self._receive)

    def send(self, data: bytes) -> None:
        try:
            self.socket.send(data)
        except ConnectionRefusedError:
            self._listener.lost(self._client)
        except OSError:
            pass  # as lost as any datagram may be

    def _receive(self, events: int) -> None:
        for _ in range(_BATCH):
            try:
                data = self.socket.recv(_LARGEST)
            except ConnectionRefusedError:
                self._listener.lost(self._client)
                return
            except OSError:
                return
            self._listener.answer(self._client, data)
