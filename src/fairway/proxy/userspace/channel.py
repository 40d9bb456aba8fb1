"""The proxy's end of the talk with its relay: finds the one that runs, or starts one.

Blocking, for the proxy's worker thread. Everything happens in the network namespace at the given path,
whichever thread asks.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import structlog

from fairway.kernel import namespaces
from fairway.proxy.userspace.messages import (
    SOCKET_NAME,
    VERSION,
    Bound,
    Count,
    Counted,
    End,
    Forget,
    Frames,
    Hello,
    KeepOnly,
    Listener,
    Opened,
    Request,
    Retire,
    Serve,
    answer,
    frame,
)
from fairway.proxy.userspace.relay import owner

log = structlog.get_logger()

# Listeners a message, so that the relay carries traffic between one message and the next.
_BATCH = 100
_SECONDS = 30.0


class RelayError(Exception):
    """The relay is gone or makes no sense. Another `connect` starts over."""


class Relays(Protocol):
    """What the mode asks of a relay."""

    def connect(self) -> None:
        """Find the relay or start it. Does nothing while it is there."""

    def serve(self, listeners: Sequence[Listener]) -> list[Bound]: ...
    def forget(self, keys: Iterable[str]) -> None: ...
    def keep_only(self, keys: Iterable[str]) -> None: ...
    def counted(self) -> Sequence[Counted]:
        """What listeners have carried, those that have carried anything."""

    def is_alive(self) -> bool: ...
    def end(self) -> None:
        """End a relay if there is one."""

    def close(self) -> None:
        """Leave the relay to itself."""


class RelayChannel:
    def __init__(self, namespace: Path) -> None:
        self._namespace = namespace
        self._connection: socket.socket | None = None

    def connect(self) -> None:
        if self._connection is not None and self.is_alive():
            return
        self.close()
        self._connection = self._find()
        if self._connection is not None and self._ask(Hello(VERSION)).version != VERSION:
            log.info("another version of the relay is running; it ends with its last connection")
            self._ask(Retire())
            self.close()
        if self._connection is None:
            self._connection = namespaces.run_inside(self._namespace, _start)
            self._ask(Hello(VERSION))

    def serve(self, listeners: Sequence[Listener]) -> list[Bound]:
        bound: list[Bound] = []
        for start in range(0, len(listeners), _BATCH):
            bound += self._ask(Serve(tuple(listeners[start : start + _BATCH]))).bound
        return bound

    def forget(self, keys: Iterable[str]) -> None:
        gone = tuple(keys)
        if gone:
            self._ask(Forget(gone))

    def keep_only(self, keys: Iterable[str]) -> None:
        self._ask(KeepOnly(tuple(keys)))

    def counted(self) -> Sequence[Counted]:
        return self._ask(Count()).counted

    def is_alive(self) -> bool:
        """Nothing ever comes unasked, so anything to read is the end."""
        if self._connection is None:
            return False
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        return not poll.poll(0)

    def end(self) -> None:
        if self._connection is None:
            self._connection = self._find()
        if self._connection is not None:
            self._ask(End())
            with contextlib.suppress(OSError):
                self._connection.recv(1)  # there is nothing more to read but the end of the process
            self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _find(self) -> socket.socket | None:
        return namespaces.run_inside(self._namespace, _connected)

    def _ask(self, request: Request) -> Opened:
        if self._connection is None:
            raise RelayError("there is no relay")
        frames = Frames()
        try:
            self._connection.sendall(frame(request))
            while data := self._connection.recv(1 << 18):
                for body in frames.feed(data):
                    return _heard(answer(body))
        except OSError as error:
            self.close()
            raise RelayError(f"the relay does not answer: {error}") from error
        self.close()
        raise RelayError("the relay has ended")


def _heard(said: Opened) -> Opened:
    for error in said.errors:
        log.error("the relay lost a connection by an error of its own", error=error)
    return said


def _start() -> socket.socket:
    """The socket is bound here, so there is never more than one relay, and nothing that it must say first."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(SOCKET_NAME)
        listening.listen(8)
        number = listening.fileno()
        command = [sys.executable, "-m", "fairway.proxy.userspace.relay", str(number)]
        done = subprocess.run(command, pass_fds=[number], capture_output=True, text=True, check=False)
    found = _connected()
    if done.returncode or found is None:
        raise RelayError(f"the relay did not start: {done.stderr.strip()[-500:]}")
    return found


def _connected() -> socket.socket | None:
    """In the namespace of the calling thread."""
    opened = socket.socket(socket.AF_UNIX)
    opened.settimeout(_SECONDS)
    try:
        opened.connect(SOCKET_NAME)
    except ConnectionRefusedError:
        opened.close()
        return None
    if owner(opened) != os.geteuid():
        opened.close()
        raise RelayError("another user holds the relay's socket")
    return opened
