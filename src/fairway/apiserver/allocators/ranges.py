"""Choosing a free number from a range, where people also choose by hand. Pure.

The lower band of a range is left to people as long as the upper one has room, so that a hand-picked
address or port is rarely taken already.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
RANDOM_PROBES = 32


@dataclass(frozen=True, slots=True)
class Band:
    """Numbers first..last, of which those before `dynamic` are for people to choose."""

    first: int
    dynamic: int
    last: int

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last


def address_band(network: Network) -> Band:
    """All addresses but the network's own and, for IPv4, the broadcast address."""
    first = int(network.network_address) + 1
    last = int(network.broadcast_address)
    if network.version == 4 and network.prefixlen < 31:
        last -= 1
    size = last - first + 1
    return Band(first, first + static_size(size, 16, 256), last)


def port_band(first: int, last: int) -> Band:
    return Band(first, first + static_size(last - first + 1, 16, 128), last)


def static_size(size: int, least: int, most: int) -> int:
    """A sixteenth (a thirty-second for ports) of the range, within bounds; nothing of a small one."""
    if size < least:
        return 0
    return min(max(least, size // (16 if most == 256 else 32)), most)


def pick_free(band: Band, taken: Callable[[int], bool], rng: random.Random) -> int | None:
    """A free number: from the dynamic part at random, then in order, then from the part for people."""
    if band.dynamic <= band.last:
        for _ in range(RANDOM_PROBES):
            candidate = rng.randint(band.dynamic, band.last)
            if not taken(candidate):
                return candidate
    return next((number for number in _in_order(band) if not taken(number)), None)


def _in_order(band: Band) -> Iterator[int]:
    yield from range(band.dynamic, band.last + 1)
    yield from range(band.first, band.dynamic)
