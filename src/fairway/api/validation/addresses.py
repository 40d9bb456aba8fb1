"""Reading addresses and networks as Kubernetes reads them: leniently, and knowing what was lenient about it.

Lenient means leading zeros and IPv4 written as IPv6. Which of that is refused, and with which words, is
decided in `network`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
MAPPED_BITS = 96

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
is_plain_ipv4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}").fullmatch
"""Whether the text is an IPv4 address as it should be written: nearly all are, and need no further look."""


def read_ip(text: str) -> Address | None:
    """The address, read leniently; IPv4 written as IPv6 is IPv4."""
    address = _read(text)
    return None if address is None else _unmapped(address)


def is_strict_ip(text: str) -> bool:
    """Whether every program would read the text as an address, and as the same one."""
    try:
        return "%" not in text and bool(ip_address(text))
    except ValueError:
        return False


def is_mapped(text: str) -> bool:
    """Whether the text is an IPv4 address written as IPv6: `::ffff:10.0.0.1`."""
    address = _read(text)
    return isinstance(address, IPv6Address) and address.ipv4_mapped is not None


def family(address: Address) -> str:
    return f"IPv{address.version}"


@dataclass(frozen=True, slots=True)
class Cidr:
    """A network as it was written: `10.96.0.1/16` keeps its address."""

    text: str
    address: Address
    network: IPv4Network | IPv6Network

    @property
    def is_strict(self) -> bool:
        start, _, length = self.text.partition("/")
        return is_strict_ip(start) and length == str(self.network.prefixlen)

    @property
    def is_mapped(self) -> bool:
        return is_mapped(self.text.partition("/")[0])

    @property
    def is_network(self) -> bool:
        """Whether nothing is set beyond the prefix."""
        return self.address == self.network.network_address

    @property
    def family(self) -> str:
        return family(_unmapped(self.address))

    @property
    def canonical(self) -> str:
        return f"{_unmapped(self.address)}/{self.network.prefixlen}"

    @property
    def alone(self) -> str:
        """The network of just this address."""
        return f"{_unmapped(self.address)}/{self.address.max_prefixlen}"

    @property
    def canonical_network(self) -> str:
        mapped = self.is_mapped and self.network.prefixlen >= MAPPED_BITS
        length = self.network.prefixlen - MAPPED_BITS if mapped else self.network.prefixlen
        return f"{_unmapped(self.network.network_address)}/{length}"


def read_cidr(text: str) -> Cidr | None:
    start, _, length = text.partition("/")
    address = _read(start)
    if address is None or not re.fullmatch("[0-9]+", length) or int(length) > address.max_prefixlen:
        return None
    return Cidr(text, address, ip_network((address, int(length)), strict=False))


def _read(text: str) -> Address | None:
    head, colon, tail = text.rpartition(":")
    digits, separator = ("[0-9]+", ".") if "." in tail else ("[0-9a-fA-F]+", ":")
    plain = _without_zeros(head, "[0-9a-fA-F]+", ":") + colon + _without_zeros(tail, digits, separator)
    return ip_address(plain) if is_strict_ip(plain) else None


def _without_zeros(text: str, digits: str, separator: str) -> str:
    """Leading zeros taken off each part that is a number; any other part stays, to be refused as it is."""
    parts = text.split(separator)
    return separator.join((part.lstrip("0") or "0") if re.fullmatch(digits, part) else part for part in parts)


def _unmapped(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped
