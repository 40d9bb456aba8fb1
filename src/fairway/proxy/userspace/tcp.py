"""TCP: a listener, and the connections that come by it, each with a connection of ours to a backend.

A backend that refuses or doesn't answer in time is passed over for the next, a few times. Then two streams
carry bytes until both have ended; a reset on one side is a reset on the other.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
from dataclasses import dataclass

from fairway.proxy.userspace.balancer import Balancer
from fairway.proxy.userspace.loop import Loop, Timer
from fairway.proxy.userspace.messages import Backend
from fairway.proxy.userspace.ports import prepare_carrying
from fairway.proxy.userspace.streams import ENDING, Pipes, Stream
from fairway.proxy.userspace.tally import Tally
from fairway.proxy.userspace.transparency import appear_as

# Seconds that one attempt after the other may take, as with kube-proxy.
PATIENCE = (0.25, 0.5, 1.0, 2.0)
_EVENTS = select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET
_BROKEN = select.EPOLLERR | select.EPOLLHUP
_INCOMING = select.EPOLLIN | ENDING
# For a stream that was held up: its end may have come meanwhile.
_ALL = select.EPOLLRDHUP
_KIND = socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
_RESET = struct.pack("ii", 1, 0)
_ACCEPTS = 64


@dataclass
class Counters:
    """What all connections of a relay share."""

    open: int = 0
    total: int = 0
    retried: int = 0
    failed: int = 0


class TcpListener:
    def __init__(self, loop: Loop, listening: socket.socket, balancer: Balancer, shared: Shared) -> None:
        self._loop, self._listening, self._shared = loop, listening, shared
        self.balancer, self.tally = balancer, Tally()
        loop.add(listening, select.EPOLLIN, self._accept)

    def close(self) -> None:
        """To new clients. Connections know the balancer and the tally, not this."""
        self._loop.discard(self._listening)

    def backends_changed(self) -> None:
        """Connections go on as long as both sides live, as they do in the kernel's modes."""

    def _accept(self, events: int) -> None:
        for _ in range(_ACCEPTS):
            try:
                client, peer = self._listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._shared.turn_away(self._listening)
                return
            self.tally.connections += 1
            Connection(self._loop, self._shared, self.balancer, client, peer[0], self.tally).connect()


class Shared:
    """What all TCP listeners of a relay have in common."""

    def __init__(self) -> None:
        self.counters = Counters()
        self.pipes = Pipes()
        self._spare = os.open(os.devnull, os.O_RDONLY)

    def turn_away(self, listening: socket.socket) -> None:
        """Out of descriptors: left waiting, a client would keep this process busy with doing nothing."""
        os.close(self._spare)
        try:
            listening.accept()[0].close()
        except OSError:
            pass
        finally:
            self._spare = os.open(os.devnull, os.O_RDONLY)


class Connection:
    __slots__ = (
        "_attempt",
        "_balancer",
        "_client",
        "_down",
        "_loop",
        "_peer",
        "_server",
        "_shared",
        "_tally",
        "_timer",
        "_up",
    )

    def __init__(
        self, loop: Loop, shared: Shared, balancer: Balancer, client: socket.socket, peer: str, tally: Tally
    ) -> None:
        self._loop, self._shared, self._balancer, self._tally = loop, shared, balancer, tally
        self._client, self._peer = client, peer
        self._server: socket.socket | None = None
        self._timer: Timer | None = None
        self._attempt = 0
        shared.counters.open += 1
        shared.counters.total += 1

    def connect(self) -> None:
        self._try(self._balancer.choose(self._peer))

    # -- connecting ------------------------------------------------------------------------------------

    def _begin(self, backend: Backend) -> bool:
        """False if it failed at once."""
        family = self._client.family
        try:
            server = self._server = socket.socket(family, _KIND)
            prepare_carrying(server)
            if backend.transparent and self._balancer.shows(self._peer, backend):
                appear_as(server, self._peer)
            code = server.connect_ex((backend.address, backend.port))
        except OSError as error:
            code = error.errno or errno.EIO
        if code not in (0, errno.EINPROGRESS):
            self._drop_server()
            return False
        self._timer = self._loop.later(PATIENCE[self._attempt], self._too_late)
        self._loop.add(server, _EVENTS, self._answered)
        return True

    def _another(self) -> Backend | None:
        self._attempt += 1
        if self._attempt == len(PATIENCE):
            return None
        self._shared.counters.retried += 1
        return self._balancer.choose_again(self._peer)

    def _too_late(self) -> None:
        self._drop_server()
        self._retry()

    def _answered(self, events: int) -> None:
        if events & _BROKEN:
            # Also one that took the connection and reset it at once: it has seen nothing of the client yet.
            self._drop_server()
            self._retry()
        elif events & (select.EPOLLOUT | select.EPOLLIN):
            self._connected(events)

    def _retry(self) -> None:
        self._try(self._another())

    def _try(self, backend: Backend | None) -> None:
        while backend is not None and not self._begin(backend):
            backend = self._another()
        if backend is None:
            self._give_up()

    def _give_up(self) -> None:
        self._shared.counters.failed += 1
        self._abort()

    def _drop_server(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._server is not None:
            self._loop.discard(self._server)
            self._server = None

    # -- carrying --------------------------------------------------------------------------------------

    def _connected(self, events: int) -> None:
        assert self._server is not None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._up = Stream(self._client, self._server, self._shared.pipes, self._tally.received)
        self._down = Stream(self._server, self._client, self._shared.pipes, self._tally.sent)
        self._loop.replace(self._server, self._server_event)
        # Most clients have spoken by now; an event for it would come a turn later.
        self._pump(self._up, 0)
        if self._server is None:
            return
        self._loop.add(self._client, _EVENTS, self._client_event)
        if events & _INCOMING:
            # Data came with the answer; its edge has passed.
            self._server_event(events)

    def _client_event(self, events: int) -> None:
        if events & _INCOMING:
            self._pump(self._up, events)
        if events & select.EPOLLOUT and self._server is not None and self._down.blocked:
            self._pump(self._down, _ALL)

    def _server_event(self, events: int) -> None:
        if events & _INCOMING:
            self._pump(self._down, events)
        if events & select.EPOLLOUT and self._server is not None and self._up.blocked:
            self._pump(self._up, _ALL)

    def _pump(self, stream: Stream, events: int) -> None:
        if self._server is None:
            return
        if stream.ended:
            # Nothing more is read there, so nothing but this tells of a reset.
            if events & select.EPOLLERR:
                self._abort()
            return
        try:
            if stream.pump(events):
                self._loop.again(lambda: self._pump(stream, _ALL))
            if not stream.ended:
                return
            if self._up.ended and self._down.ended:
                self._close()
            else:
                stream.end_target()
        except OSError:
            self._abort()

    def _abort(self) -> None:
        """What ended badly on one side ends badly on the other."""
        for side in (self._client, self._server):
            if side is not None:
                try:
                    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                except OSError:
                    pass
        self._close()

    def _close(self) -> None:
        if self._server is not None and self._timer is None:
            self._up.close()
            self._down.close()
        self._drop_server()
        self._loop.discard(self._client)
        self._shared.counters.open -= 1
