"""IP sets as packet filter rules ask them: which entry, if any, is about a packet.

Only the types of sets that our rules use; another one is an error, never a guess.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

from fairway.kernel.ipset import Entry, Kind
from fairway.testing.tracing import Packet, UnknownRule

# What entries are known by, in the order in which a rule names the sides of a packet.
_FIELDS = {
    "hash:ip": ("address",),
    "hash:ip,port": ("address", "port"),
    "hash:ip,port,ip": ("address", "port", "other"),
    "hash:ip,port,net": ("address", "port", "other"),
    "bitmap:port": ("port",),
}
# In a set of ports alone the kernel looks for no others.
_BITMAP_PROTOCOLS = ("tcp", "udp")
_VERSIONS = {"ip": 4, "ip6": 6}
_Key = tuple[str, str, int]


class IpSet:
    def __init__(self, kind: Kind, entries: Iterable[Entry]) -> None:
        if kind.type not in _FIELDS:
            raise UnknownRule(f"a set of type {kind.type}")
        self.kind, self.entries = kind, frozenset(entries)
        self._by_key: dict[_Key, list[Entry]] = {}
        for entry in self.entries:
            self._by_key.setdefault((entry.address, entry.protocol, entry.port), []).append(entry)

    def find(self, packet: Packet, sides: str) -> Entry | None:
        """`sides` as in a rule: `dst,dst,src`. With fewer than the set's type has, nothing matches."""
        named = sides.split(",")
        fields = _FIELDS[self.kind.type]
        if len(named) < len(fields) or self.kind.version not in (0, _VERSIONS[packet.family]):
            return None
        by_field = dict(zip(fields, named, strict=False))
        key = self._key(packet, by_field)
        other = _address(packet, by_field.get("other", ""))
        for entry in self._by_key.get(key, ()) if key else ():
            if not other or within(other, entry.other):
                return entry
        return None

    def _key(self, packet: Packet, by_field: dict[str, str]) -> _Key | None:
        address = _address(packet, by_field.get("address", ""))
        if "port" not in by_field:
            return address, "", 0
        if by_field["port"] != "dst":
            raise UnknownRule("a set that is asked for a source port, which no packet here has")
        if self.kind.type == "bitmap:port":
            return ("", "", packet.port) if packet.protocol in _BITMAP_PROTOCOLS else None
        return address, packet.protocol, packet.port


def _address(packet: Packet, side: str) -> str:
    return {"src": packet.source, "dst": packet.destination, "": ""}[side]


@lru_cache(maxsize=1 << 16)
def within(address: str, network: str) -> bool:
    return ipaddress.ip_address(address) in ipaddress.ip_network(network)
