"""Children of the supervisor: ready, dying, started again, stopped."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from fairway.cluster import processes
from fairway.cluster.processes import FIRST_DELAY, LONGEST_DELAY, Child

Ready = Callable[[], None]


def waits(ready: Ready) -> None:
    ready()
    time.sleep(60)


def fails(ready: Ready) -> None:
    raise RuntimeError("no luck")


def test_a_child_is_ready_when_it_says_so_and_ends_when_asked(tmp_path: Path) -> None:
    child = Child("waits", waits, tmp_path / "log")
    child.start()
    assert child.wait_ready(10)
    pid = child.pid
    processes.stop([child])
    assert child.pid == 0
    assert not Path(f"/proc/{pid}").exists()


def test_a_child_that_fails_is_never_ready_and_leaves_its_reason_in_the_log(tmp_path: Path) -> None:
    child = Child("fails", fails, tmp_path / "log")
    child.start()
    assert not child.wait_ready(10)
    os.waitpid(child.pid, 0)
    assert "RuntimeError: no luck" in (tmp_path / "log").read_text()


def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    def stubborn(ready: Ready) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        waits(ready)

    child = Child("stubborn", stubborn, tmp_path / "log")
    child.start()
    assert child.wait_ready(10)
    processes.stop([child], seconds=0.1)
    assert child.pid == 0


def test_restarts_back_off_up_to_a_limit(tmp_path: Path) -> None:
    child = Child("fails", fails, tmp_path / "log")
    child.started = time.monotonic()
    delays = []
    for _ in range(10):
        delays.append(child.delay)
        child.ended()
    assert delays[:3] == [FIRST_DELAY, FIRST_DELAY * 2, FIRST_DELAY * 4]
    assert delays[-1] == LONGEST_DELAY
