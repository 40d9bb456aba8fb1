"""The relay: a process of its own that opens ports and carries what comes by them.

The proxy starts it and tells it what to serve; it decides nothing but whose turn it is. It lives on when the
proxy ends, so that connections do, and a proxy that starts again finds it by its socket. Imports little: the
process must be small, and nothing of the API's side may slow it down.
"""

from __future__ import annotations

import os
import resource
import select
import socket
import struct
import sys
import time
from collections.abc import Iterable, Iterator

import msgspec

from fairway.proxy.userspace import messages
from fairway.proxy.userspace.balancer import Balancer
from fairway.proxy.userspace.loop import Loop
from fairway.proxy.userspace.messages import (
    Bound,
    Count,
    Counted,
    Forget,
    Frames,
    KeepOnly,
    Listener,
    Opened,
    Retire,
    Serve,
)
from fairway.proxy.userspace.ports import Ports
from fairway.proxy.userspace.tcp import Shared, TcpListener
from fairway.proxy.userspace.udp import UdpListener

_SWEEP_SECONDS = 10.0
_RETIRING_SECONDS = 0.5
_NOWHERE = Bound("", 0)


class Relay:
    """All listeners, by key."""

    def __init__(self, loop: Loop) -> None:
        self._loop, self._ports, self._shared = loop, Ports(), Shared()
        self._listeners: dict[str, tuple[TcpListener | UdpListener, Bound]] = {}
        self._sweep()

    def handle(self, request: messages.Request) -> Opened:
        match request:
            case Serve(listeners):
                return Opened(bound=tuple(self._serve(wanted) for wanted in listeners))
            case Forget(keys):
                self._forget(keys)
            case KeepOnly(keys):
                self._forget(self._listeners.keys() - set(keys))
            case Count():
                return Opened(counted=tuple(self._counted()))
            case Retire():
                self._forget(list(self._listeners))
                self._end_with_the_last()
            case messages.End():
                self._loop.stop()
        return Opened()

    def _serve(self, wanted: Listener) -> Bound:
        known = self._listeners.get(wanted.key)
        if known is None:
            try:
                known = self._listeners[wanted.key] = self._open(wanted)
            except OSError:
                return _NOWHERE
        listener, bound = known
        listener.balancer.update(wanted.backends, wanted.affinity_seconds, wanted.inside)
        listener.backends_changed()
        return bound

    def _open(self, wanted: Listener) -> tuple[TcpListener | UdpListener, Bound]:
        opened, bound = self._ports.open(wanted.six, wanted.udp)
        balancer = Balancer(time.monotonic)
        if wanted.udp:
            return UdpListener(self._loop, opened, balancer, time.monotonic), bound
        return TcpListener(self._loop, opened, balancer, self._shared), bound

    def _forget(self, keys: Iterable[str]) -> None:
        for key in list(keys):
            known = self._listeners.pop(key, None)
            if known is not None:
                known[0].close()

    def _counted(self) -> Iterator[Counted]:
        for key, (listener, _) in self._listeners.items():
            tally = listener.tally
            if tally.connections:
                yield Counted(key, tally.connections, tally.received.size, tally.sent.size)

    def _sweep(self) -> None:
        """Now and then: forget clients and flows that have been silent for long."""
        for listener, _ in self._listeners.values():
            listener.balancer.forget_expired()
            if isinstance(listener, UdpListener):
                listener.end_idle()
        self._loop.later(_SWEEP_SECONDS, self._sweep)

    def _end_with_the_last(self) -> None:
        if self._shared.counters.open:
            self._loop.later(_RETIRING_SECONDS, self._end_with_the_last)
        else:
            self._loop.stop()


class Control:
    """Where the proxy speaks to us; the newest proxy is the one that counts."""

    def __init__(self, loop: Loop, relay: Relay, listening: socket.socket) -> None:
        self._loop, self._relay, self._listening = loop, relay, listening
        self._proxy: socket.socket | None = None
        self._frames = Frames()
        listening.setblocking(False)
        loop.add(listening, select.EPOLLIN, self._accept)

    def _accept(self, events: int) -> None:
        try:
            proxy, _ = self._listening.accept()
        except BlockingIOError:
            return
        if owner(proxy) != os.geteuid():
            proxy.close()
            return
        self._hang_up()
        self._proxy, self._frames = proxy, Frames()
        # Answers are small and the proxy waits for them; requests are read as they come.
        proxy.setblocking(False)
        self._loop.add(proxy, select.EPOLLIN, self._read)

    def _read(self, events: int) -> None:
        assert self._proxy is not None
        try:
            data = self._proxy.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hang_up()
            return
        for body in self._frames.feed(data):
            try:
                request = messages.request(body)
            except msgspec.DecodeError:
                self._hang_up()  # what speaks another language must not end what is being carried
                return
            self._answer(request)

    def _answer(self, request: messages.Request) -> None:
        if isinstance(request, Retire):
            # Free the name for the successor before the answer says so.
            self._loop.discard(self._listening)
            self._listening.close()
        answer = self._relay.handle(request)
        if self._proxy is None:
            return
        errors, self._loop.errors = tuple(self._loop.errors), []
        try:
            self._proxy.setblocking(True)
            self._proxy.sendall(messages.frame(msgspec.structs.replace(answer, errors=errors)))
            self._proxy.setblocking(False)
        except OSError:
            self._hang_up()

    def _hang_up(self) -> None:
        if self._proxy is not None:
            self._loop.discard(self._proxy)
            self._proxy = None


def owner(connection: socket.socket) -> int:
    """The user at the other end of a Unix socket."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[1])


def main() -> None:
    """With the descriptor of a listening Unix socket as the only argument."""
    _detach()
    _allow_many_descriptors()
    loop = Loop()
    Control(loop, Relay(loop), socket.socket(fileno=int(sys.argv[1])))
    loop.run()
    # Sockets must close with the process, not before it: that is how the proxy knows that it has ended.
    os._exit(0)


def _detach() -> None:
    """Whoever started this waits only until here; it is nobody's child, terminal or folder."""
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.close(nothing)


def _allow_many_descriptors() -> None:
    """A connection takes two, a Service port one."""
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))
    except (ValueError, OSError):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    main()
