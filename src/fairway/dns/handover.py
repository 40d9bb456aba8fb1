"""Giving the sockets of a running server to the one that takes its place, so that no question is lost.

The new server asks over a Unix socket and gets the very same sockets, with all that waits in them. It starts
to read when it is ready; then it says so, and the old one stops reading, finishes what it has and ends. At
every moment at least one of them reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import structlog

log = structlog.get_logger()
_TAKEN = b"taken"
_MOST = 250
"""File descriptors that one message may carry on Linux (SCM_MAX_FD is 253)."""
_PATIENCE = 5.0

Place = tuple[str, int]
Pair = tuple[socket.socket, socket.socket]
"""The UDP and the TCP socket of a place."""
Sockets = dict[Place, Pair]


class Predecessor:
    """A server that runs, and is ready to hand over."""

    def __init__(self, connection: socket.socket, sockets: Sockets) -> None:
        self._connection = connection
        self.sockets = sockets

    def dismiss(self) -> None:
        """Tells it that questions are now read here."""
        with contextlib.suppress(OSError):
            self._connection.sendall(_TAKEN)
        self._connection.close()


def find(path: Path) -> Predecessor | None:
    """The server that listens at this path, with its sockets; None if there is none."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(_PATIENCE)
    try:
        connection.connect(str(path))
        data, descriptors, _, _ = socket.recv_fds(connection, 65536, _MOST)
        places = [(str(host), int(port)) for host, port in json.loads(data)]
    except (OSError, ValueError):
        connection.close()
        return None
    sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
    pairs = zip(places, zip(sockets[::2], sockets[1::2], strict=True), strict=True)
    log.info("taking over", places=len(places))
    return Predecessor(connection, dict(pairs))


class Offer:
    """Waits for a successor. `sockets` are those to give, `taken` is called once they are read elsewhere."""

    def __init__(self, path: Path, sockets: Callable[[], Sockets], taken: Callable[[], None]) -> None:
        self._path, self._sockets, self._taken = path, sockets, taken
        self._inode = 0

    async def run(self) -> None:
        """Until a successor has taken over, or until cancelled."""
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            try:
                self._listen(listener)
            except OSError as error:
                log.warning("no hand-over is possible", path=str(self._path), error=str(error))
                return
            try:
                while True:
                    connection, _ = await loop.sock_accept(listener)
                    if await self._serve(connection):
                        self._taken()
                        return
            finally:
                self._remove()

    def _listen(self, listener: socket.socket) -> None:
        # Whoever may connect gets the port of the cluster's DNS: nobody but the same user.
        old = os.umask(0o177)
        try:
            self._path.unlink(missing_ok=True)
            listener.bind(str(self._path))
        finally:
            os.umask(old)
        self._inode = self._path.stat().st_ino
        listener.listen(4)
        listener.setblocking(False)

    def _remove(self) -> None:
        """Removes the socket file, unless a successor has put its own there."""
        with contextlib.suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()

    async def _serve(self, connection: socket.socket) -> bool:
        sockets = self._sockets()
        descriptors = [sock.fileno() for pair in sockets.values() for sock in pair]
        with connection:
            try:
                socket.send_fds(connection, [json.dumps(list(sockets)).encode()], descriptors)
                connection.setblocking(False)
                answer = await asyncio.get_running_loop().sock_recv(connection, len(_TAKEN))
            except OSError:
                return False
        return answer == _TAKEN
