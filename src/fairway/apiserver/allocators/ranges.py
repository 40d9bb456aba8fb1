"""Choosing a free number from a range, where people also choose by hand. Pure.

The lower band of a range is left to people as long as the upper one has room, so that a hand-picked
address or port is rarely taken already.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

RANDOM_PROBES = 16
LARGEST_HOST_PART = 64
"""Bits of an IPv6 range that may vary; Kubernetes serves nothing from larger ones."""


@dataclass(frozen=True, slots=True)
class Band:
    """Numbers first..last, of which those before `dynamic` are for people to choose."""

    first: int
    dynamic: int
    last: int

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last


EMPTY = Band(1, 1, 0)


def address_band(network: Network) -> Band:
    """All addresses but the network's own and, for IPv4, the broadcast address."""
    if network.version == 6 and network.max_prefixlen - network.prefixlen > LARGEST_HOST_PART:
        return EMPTY
    first = int(network.network_address) + 1
    last = int(network.broadcast_address) - (network.version == 4)
    return Band(first, first + static_size(network.num_addresses, step=16, most=256), last)


def port_band(first: int, last: int) -> Band:
    return Band(first, first + static_size(last - first + 1, step=32, most=128), last)


def static_size(size: int, *, step: int, most: int, least: int = 16) -> int:
    """How much of a range is left to people: one part of `step`, within bounds; nothing of a small one."""
    return 0 if size <= least else min(max(least, size // step), most)


def pick_free(band: Band, taken: Callable[[int], bool], rng: random.Random) -> int | None:
    """A free number, of the dynamic part as long as there is one."""
    if band.dynamic <= band.last:
        for _ in range(RANDOM_PROBES):
            candidate = rng.randint(band.dynamic, band.last)
            if not taken(candidate):
                return candidate
    upper = _first_free(band.dynamic, band.last, taken, rng)
    return upper if upper is not None else _first_free(band.first, band.dynamic - 1, taken, rng)


def _first_free(first: int, last: int, taken: Callable[[int], bool], rng: random.Random) -> int | None:
    """From a random start once around, so that those who look at the same time find different numbers."""
    if first > last:
        return None
    start = rng.randint(first, last)
    around = chain(range(start, last + 1), range(first, start))
    return next((number for number in around if not taken(number)), None)
