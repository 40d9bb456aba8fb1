"""Messages made in advance: answers with several addresses in a few orders, cut to size if need be. Pure."""

from __future__ import annotations

import random
import struct

from fairway.dns import wire

_VARIANTS = 8
_VARIANTS_OF_MANY = 2
_MANY = 64


class Shuffled:
    """An answer with several addresses: prebuilt in a few random orders, each sent from a random start."""

    __slots__ = ("head", "orders", "size", "width")

    def __init__(self, head: bytes, records: list[bytes]) -> None:
        self.head = head
        self.width = len(records[0])
        self.size = len(records)
        wanted = _VARIANTS if self.size <= _MANY else _VARIANTS_OF_MANY
        self.orders = tuple(
            b"".join(random.sample(records, self.size)) for _ in range(min(wanted, self.size - 1))
        )

    def pick(self) -> bytes:
        body = self.orders[int(random.random() * len(self.orders))]
        cut = int(random.random() * self.size) * self.width
        return self.head + body[cut:] + body[:cut]

    def pick_some(self, limit: int) -> bytes:
        """As many addresses as fit into so many octets, with TC where that is not all."""
        whole = self.pick()
        if len(whole) + 2 <= limit:
            return whole
        fitting = max(0, (limit - 2 - len(self.head)) // self.width)
        flags = bytes((whole[0] | wire.TC >> 8,))
        cut = whole[: len(self.head) + fitting * self.width]
        return flags + cut[1:4] + struct.pack("!H", fitting) + cut[6:]


Prebuilt = bytes | Shuffled
