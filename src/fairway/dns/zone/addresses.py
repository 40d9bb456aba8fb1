"""From addresses back to names: whose cluster IP or endpoint an address is, for PTR records.

Also which reverse names lie above known addresses: they exist, though they have no records (RFC 8020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fairway.dns import names
from fairway.dns.zone.model import EXISTS, Names, Node


class AddressIndex:
    """All addresses of the cluster's Services and endpoints."""

    def __init__(self) -> None:
        self._cluster_ips: dict[bytes, bytes] = {}
        self._endpoints: dict[bytes, dict[str, tuple[bytes, ...]]] = {}
        self._prefixes: Counter[tuple[int, str]] = Counter()

    def replace(self, key: str, old: Names, new: Names) -> None:
        """Takes over what became of the Service with this key."""
        self._remove(key, old)
        for address in new.owned:
            if address not in self._cluster_ips:
                self._count(address, 1)
            self._cluster_ips[address] = new.base
        for address, owners in new.endpoints.items():
            if address not in self._endpoints:
                self._count(address, 1)
            self._endpoints.setdefault(address, {})[key] = owners

    def _remove(self, key: str, old: Names) -> None:
        for address in old.owned:
            # Another Service may have got the address meanwhile.
            if self._cluster_ips.get(address) == old.base:
                del self._cluster_ips[address]
                self._count(address, -1)
        for address in old.endpoints:
            holders = self._endpoints[address]
            del holders[key]
            if not holders:
                del self._endpoints[address]
                self._count(address, -1)

    def _count(self, address: bytes, by: int) -> None:
        digits, step = address.hex(), 2 if len(address) == 4 else 1
        for size in range(0, len(digits), step):
            prefix = (len(address), digits[:size])
            self._prefixes[prefix] += by
            if not self._prefixes[prefix]:
                del self._prefixes[prefix]

    def find(self, name: bytes) -> Node | None:
        """The node of a reverse name in small letters."""
        six = name.endswith(names.IP6)
        digits = names.address_digits(names.labels(name)[:-2], six)
        if digits is None:
            return None
        if len(digits) == (32 if six else 8):
            return self._pointer(bytes.fromhex(digits))
        return EXISTS if self._prefixes[16 if six else 4, digits] > 0 else None

    def _pointer(self, address: bytes) -> Node | None:
        """A Service comes before endpoints that have its address."""
        service = self._cluster_ips.get(address)
        found = (service,) if service else tuple(self.endpoint_names(address))
        return Node(ptr=found) if found else None

    def endpoint_names(self, address: bytes) -> Iterator[bytes]:
        for owners in self._endpoints.get(address, {}).values():
            yield from owners
