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
        await write_all(self._ours, data)

    def resize(self, width: int, height: int) -> None:
        """The kernel tells the foreground process of the terminal with SIGWINCH."""
        set_size(self._ours, width, height)

    def close_theirs(self) -> None:
        """Once the command has it: else we would never see its end."""
        os.close(self.theirs)

    def close(self) -> None:
        os.close(self._ours)


def set_size(descriptor: int, width: int, height: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))


async def write_all(descriptor: int, data: bytes) -> None:
    """To a descriptor that doesn't block."""
    loop = asyncio.get_running_loop()
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:
            await _turn(lambda wake: loop.add_writer(descriptor, wake), loop.remove_writer, descriptor)


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
