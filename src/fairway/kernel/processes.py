"""Processes that are not our children: noticing their end, signalling them, what they may do."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path


class Process:
    """A handle that keeps naming the same process even after its number is given to another."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)

    async def ended(self) -> None:
        loop = asyncio.get_running_loop()
        gone: asyncio.Future[None] = loop.create_future()
        # A duplicate, because a loop accepts one reader a descriptor and several may wait for one process.
        descriptor = os.dup(self._descriptor)
        loop.add_reader(descriptor, lambda: None if gone.done() else gone.set_result(None))
        try:
            await gone
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)

    def send(self, number: int) -> None:
        """One that has ended already needs no signal."""
        try:
            signal.pidfd_send_signal(self._descriptor, number)
        except ProcessLookupError:
            pass

    def close(self) -> None:
        os.close(self._descriptor)


def signal_number(name: str) -> int:
    """`SIGQUIT`, `QUIT` or `3`, as images write it; SIGTERM for anything unknown."""
    if name.isdecimal():
        return int(name)
    full = name.upper() if name.upper().startswith("SIG") else f"SIG{name.upper()}"
    return int(getattr(signal, full, signal.SIGTERM))


def bounding_set() -> int:
    """The capabilities this process could give away, as a mask; a machine may have narrowed them."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapBnd:"):
            return int(line.split()[1], 16)
    return 0


def group_exists(number: int) -> bool:
    """Whether a group can be used here: in a user namespace only some are."""
    for line in Path("/proc/self/gid_map").read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= number < first + count:
            return True
    return False
