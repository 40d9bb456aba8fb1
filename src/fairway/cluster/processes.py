"""Child processes forked from one that has imported everything, so that they share its memory.

Forking, readiness, restarting with back-off and stopping; what runs in a child is the caller's.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

FIRST_DELAY, LONGEST_DELAY = 0.1, 10.0
STEADY_SECONDS = 30.0
PR_SET_PDEATHSIG = 1

Body = Callable[[Callable[[], None]], None]


@dataclass(slots=True)
class Child:
    """One component: its body is called in the child with a function to call once it is ready."""

    name: str
    body: Body
    log: Path
    pid: int = 0
    started: float = 0.0
    delay: float = FIRST_DELAY
    restart_at: float = 0.0
    restarts: int = 0
    _ready: int = field(default=-1, repr=False)

    def start(self) -> None:
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _run_child(self.body, self.log, writing)
        os.close(writing)
        if self._ready >= 0:
            os.close(self._ready)
        self._ready = reading
        self.started = time.monotonic()

    def wait_ready(self, seconds: float) -> bool:
        """True once the child says so; False if it ended or time is up."""
        readable, _, _ = select.select([self._ready], [], [], seconds)
        return bool(readable) and os.read(self._ready, 1) == b"1"

    def ended(self) -> None:
        """Note that it died, and when to start it again."""
        if time.monotonic() - self.started > STEADY_SECONDS:
            self.delay = FIRST_DELAY
        self.pid = 0
        self.restart_at = time.monotonic() + self.delay
        self.delay = min(self.delay * 2, LONGEST_DELAY)
        self.restarts += 1


def _run_child(body: Body, log: Path, ready: int) -> NoReturn:
    code = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        body(lambda: _say_ready(ready))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _say_ready(descriptor: int) -> None:
    try:
        os.write(descriptor, b"1")
    except OSError:
        pass


def stop(children: list[Child], seconds: float = 8.0) -> None:
    """SIGTERM to all, then SIGKILL to whoever is left."""
    for child in children:
        _signal(child, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while any(child.pid for child in children) and time.monotonic() < deadline:
        for child in children:
            if child.pid and os.waitpid(child.pid, os.WNOHANG)[0]:
                child.pid = 0
        time.sleep(0.01)
    for child in children:
        _signal(child, signal.SIGKILL)
        if child.pid:
            os.waitpid(child.pid, 0)
            child.pid = 0


def _signal(child: Child, number: signal.Signals) -> None:
    if child.pid:
        try:
            os.kill(child.pid, number)
        except ProcessLookupError:
            pass
