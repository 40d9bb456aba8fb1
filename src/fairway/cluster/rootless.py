"""A cluster for an ordinary user: everything happens inside namespaces that the user owns.

`enter` starts this command anew under `unshare`: a user namespace in which the user is root, with networks,
mounts and processes of its own, so that nothing of the machine is touched and the kernel clears all away when
the first process ends. The API server's socket is opened before, so it listens on the machine's own loopback.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from fairway.kernel import mounts
from fairway.kernel.netlink import opened

_SOCKET, _READY, _OUTER = "FAIRWAY_API_SOCKET", "FAIRWAY_READY", "FAIRWAY_OUTER_PID"


class Impossible(Exception):
    """This machine does not let users make namespaces; the message says why."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What was handed over to the process inside."""

    api_socket: int
    ready: int
    outer_pid: int


def inside() -> Inside | None:
    """None unless `enter` has started us."""
    if _SOCKET not in os.environ:
        return None
    return Inside(*(int(os.environ[name]) for name in (_SOCKET, _READY, _OUTER)))


def enter(arguments: Sequence[str], port: int, detach: bool) -> int:
    """Run `fairway ARGUMENTS` inside; returns its exit code, or 0 once it is up if it is to go on alone."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise Impossible("the program `unshare` (Debian: util-linux) is missing")
    listening = socket.create_server(("127.0.0.1", port))
    reading, writing = os.pipe()
    showing, printing = os.pipe()
    child = os.fork()
    if child == 0:
        if detach:
            os.setsid()
            # What goes on alone must not keep a terminal, or whoever waits for the end of our output.
            os.dup2(printing, 1)
            os.dup2(printing, 2)
        _become(unshare, arguments, listening.fileno(), writing)
    for descriptor in (writing, printing):
        os.close(descriptor)
    listening.close()
    if detach:
        _relay(showing, reading)
    up = os.read(reading, 1) == b"1"
    return 0 if detach and up else _outcome(child)


def _become(unshare: str, arguments: Sequence[str], listening: int, ready: int) -> NoReturn:
    for descriptor in (listening, ready):
        os.set_inheritable(descriptor, True)
    handed_over = {_SOCKET: listening, _READY: ready, _OUTER: os.getpid()}
    os.environ.update({name: str(value) for name, value in handed_over.items()})
    namespaces = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc"]
    command = [unshare, *namespaces, "--kill-child=TERM", sys.executable, "-m", "fairway.cli", *arguments]
    os.execv(unshare, command)


def _relay(showing: int, ready: int) -> None:
    """Show what is printed inside, until all is up or the end has come."""
    while True:
        readable, _, _ = select.select([showing, ready], [], [])
        data = os.read(showing, 4096) if showing in readable else b""
        if data:
            os.write(1, data)
        else:
            return


def _outcome(child: int) -> int:
    """Ctrl-C reaches everyone on the terminal; we stay until the last has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def prepare() -> None:
    """Inside, before anything else: a /run of our own, where namespaces are kept; the loopback device."""
    mounts.tmpfs(Path("/run"))
    with opened() as netlink:
        netlink.set_up("lo")
