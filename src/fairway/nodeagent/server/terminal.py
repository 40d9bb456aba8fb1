"""Our end of a pseudo-terminal, for the event loop: loops' pipe transports don't take terminals."""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import termios
from collections.abc import Callable


class Terminal:
    def __init__(self) -> None:
        self._ours, self.theirs = os.openpty()
        os.set_blocking(self._ours, False)

    async def read(self, size: int) -> bytes:
        """b"" once the last user of the other end is gone, which the kernel reports as an error."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                return os.read(self._ours, size)
            except BlockingIOError:
                await _turn(lambda wake: loop.add_reader(self._ours, wake), loop.remove_reader, self._ours)
            except OSError:
                return b""

    async def write(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        while data:
            try:
                data = data[os.write(self._ours, data) :]
            except BlockingIOError:
                await _turn(lambda wake: loop.add_writer(self._ours, wake), loop.remove_writer, self._ours)

    def resize(self, width: int, height: int) -> None:
        """The kernel tells the foreground process of the terminal with SIGWINCH."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def close_theirs(self) -> None:
        """Once the command has it: else we would never see its end."""
        os.close(self.theirs)

    def close(self) -> None:
        os.close(self._ours)


async def _turn(
    register: Callable[[Callable[[], None]], object], remove: Callable[[int], object], descriptor: int
) -> None:
    """Until the descriptor is ready."""
    ready = asyncio.Event()
    register(ready.set)
    try:
        await ready.wait()
    finally:
        remove(descriptor)
