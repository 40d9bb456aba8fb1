"""Cluster IPs: which ranges there are at the moment, and which address of them is free.

Ranges are ServiceCIDR objects and come and go; an address is taken as long as an IPAddress object of its
name exists. Nothing here is stored: what to write is said to the transaction of the Service.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairway.api.kind import Obj
from fairway.api.kinds.networking.address_range import cidrs_of
from fairway.apiserver.allocators.ranges import Band, Network, address_band, pick_free

OUTSIDE = "the provided network does not match the current range"
TAKEN = "provided IP is already allocated"
DEFAULT_RANGE = "kubernetes"


@dataclass(frozen=True, slots=True)
class AddressRange:
    """One network of a ServiceCIDR, at a revision of it."""

    owner: str
    revision: int
    network: Network
    band: Band
    ready: bool = True

    @property
    def family(self) -> str:
        return f"IPv{self.network.version}"


def is_ready(service_cidr: Obj) -> bool:
    if service_cidr["metadata"].get("deletionTimestamp"):
        return False
    conditions = (service_cidr.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def ranges_of(service_cidr: Obj, revision: int) -> list[AddressRange]:
    name, ready = service_cidr["metadata"]["name"], is_ready(service_cidr)
    networks = [ipaddress.ip_network(cidr) for cidr in cidrs_of(service_cidr)]
    return [AddressRange(name, revision, network, address_band(network), ready) for network in networks]


class AddressPool:
    """The ranges, the cluster's own before those added later."""

    def __init__(
        self, ranges: Sequence[AddressRange], taken: Callable[[str], bool], rng: random.Random
    ) -> None:
        self._ranges = sorted(ranges, key=lambda each: (each.owner != DEFAULT_RANGE, each.owner))
        self._taken = taken
        self._rng = rng

    def pick(self, family: str) -> tuple[str, AddressRange] | None:
        """A free address; None if there is none left in any range of the family."""
        written = write_ipv4 if family == "IPv4" else write_ipv6
        taken = self._taken
        for each in self._ranges:
            if each.ready and each.family == family:
                number = pick_free(each.band, lambda number: taken(written(number)), self._rng)
                if number is not None:
                    return written(number), each
        return None

    def range_for(self, address: str) -> AddressRange | None:
        """The range that an address asked for may be given from."""
        parsed = ipaddress.ip_address(address)
        number, version = int(parsed), parsed.version
        return next(
            (r for r in self._ranges if r.ready and r.network.version == version and number in r.band), None
        )


def canonical(address: str) -> str:
    """The name of the IPAddress object of an address, however it is written in the Service."""
    return address if ":" not in address else str(ipaddress.IPv6Address(address))


def write_ipv4(number: int) -> str:
    return f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def write_ipv6(number: int) -> str:
    return str(ipaddress.IPv6Address(number))
