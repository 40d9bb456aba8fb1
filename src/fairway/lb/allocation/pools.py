"""Address pools, read from YAML in the shape that operators know from MetalLB. Pure.

What is wrong with the text is said in one sentence that names the pool; nothing is guessed.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_KNOWN = {"name", "protocol", "addresses", "auto-assign", "avoid-buggy-ips"}


class PoolError(ValueError):
    """The pools can't be used as they are written."""


@dataclass(frozen=True, slots=True)
class Range:
    """All addresses from the first to the last, both included."""

    first: Address
    last: Address

    def holds(self, address: Address) -> bool:
        same = address.version == self.first.version
        return same and int(self.first) <= int(address) <= int(self.last)

    def overlaps(self, other: Range) -> bool:
        return self.holds(other.first) or other.holds(self.first)

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class Pool:
    name: str
    ranges: tuple[Range, ...]
    auto_assign: bool = True
    avoid_buggy_ips: bool = False

    def holds(self, address: Address) -> bool:
        return any(r.holds(address) for r in self.ranges) and not self._avoided(address)

    def addresses(self, version: int) -> Iterator[Address]:
        """One by one: a range of IPv6 may have more than anyone can list."""
        for entry in self.ranges:
            if entry.first.version != version:
                continue
            for number in range(int(entry.first), int(entry.last) + 1):
                address = type(entry.first)(number)
                if not self._avoided(address):
                    yield address

    def _avoided(self, address: Address) -> bool:
        """Some old equipment drops packets to what would be the ends of a /24."""
        return self.avoid_buggy_ips and address.version == 4 and address.packed[3] in (0, 255)


def read_pools(text: str) -> tuple[Pool, ...]:
    try:
        document = yaml.safe_load(text) or {}
    except (yaml.YAMLError, ValueError) as error:
        raise PoolError(f"the pools are not YAML: {str(error).splitlines()[0]}") from error
    entries = document.get("address-pools") if isinstance(document, dict) else None
    if entries is not None and not isinstance(entries, list):
        raise PoolError("address-pools must be a list")
    pools = tuple(_pool(entry, number) for number, entry in enumerate(entries or (), 1))
    _check_apart(pools)
    return pools


def _pool(entry: Any, number: int) -> Pool:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
        raise PoolError(f"pool {number} of address-pools has no name")
    name = entry["name"]
    if unknown := sorted(str(key) for key in entry.keys() - _KNOWN):
        raise PoolError(f"pool {name!r} has unknown settings: {', '.join(unknown)}")
    if (protocol := entry.get("protocol", "layer2")) != "layer2":
        raise PoolError(f"pool {name!r} has protocol {protocol!r}; only layer2 is supported")
    addresses = entry.get("addresses")
    if not isinstance(addresses, list) or not addresses:
        raise PoolError(f"pool {name!r} has no addresses")
    ranges = tuple(_range(name, text) for text in addresses)
    return Pool(name, ranges, _flag(entry, "auto-assign", True), _flag(entry, "avoid-buggy-ips", False))


def _flag(entry: dict[str, Any], key: str, default: bool) -> bool:
    value = entry.get(key, default)
    if not isinstance(value, bool):
        raise PoolError(f"pool {entry['name']!r}: {key} must be true or false")
    return value


def _range(pool: str, text: Any) -> Range:
    """`10.0.0.5-10.0.0.9`, `10.0.0.0/28` or `fd00::/120`."""
    try:
        if "-" not in str(text):
            network = ipaddress.ip_network(str(text).strip())
            return Range(network[0], network[-1])
        first, last = (ipaddress.ip_address(part.strip()) for part in str(text).split("-", 1))
    except ValueError as error:
        raise PoolError(f"pool {pool!r}: {error}") from error
    if first.version != last.version or int(first) > int(last):
        raise PoolError(f"pool {pool!r}: {text!r} is not a range from a lower to a higher address")
    return Range(first, last)


def _check_apart(pools: tuple[Pool, ...]) -> None:
    seen: list[tuple[str, Range]] = []
    names: set[str] = set()
    for pool in pools:
        if pool.name in names:
            raise PoolError(f"there are two pools named {pool.name!r}")
        names.add(pool.name)
        for entry in pool.ranges:
            for other, theirs in seen:
                if entry.overlaps(theirs):
                    raise PoolError(f"pool {pool.name!r}: {entry} overlaps {theirs} of pool {other!r}")
            seen.append((pool.name, entry))
