"""What has come by one listener of the relay: connections, and bytes in each direction."""

from __future__ import annotations


class Meter:
    """Bytes in one direction, as they are read."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 0


class Tally:
    """Connections that outlive their listener go on counting here, but nobody asks any more."""

    __slots__ = ("connections", "received", "sent")

    def __init__(self) -> None:
        self.connections = 0
        self.received, self.sent = Meter(), Meter()
