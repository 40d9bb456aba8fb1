"""From addresses back to names: whose cluster IP or endpoint an address is, for PTR records.

Also which reverse names lie above known addresses: they exist, though they have no records (RFC 8020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from fairway.dns import names
from fairway.dns.zone.model import EXISTS, Names, Node


class AddressIndex:
    """All addresses of the cluster's Services and endpoints. `names_at` tells the names that an endpoint of
    the Service with this key has for an address."""

    def __init__(self, names_at: Callable[[str, bytes], Iterable[bytes]]) -> None:
        self._names_at = names_at
        self._cluster_ips: dict[bytes, bytes] = {}
        self._endpoints: dict[bytes, tuple[str, ...]] = {}
        """The keys of the Services that have an endpoint there: nearly always one."""
        self._prefixes: Counter[tuple[int, str]] | None = None
        """Known once someone has asked for a part of an address; then kept up to date."""

    def replace(self, key: str, old: Names, new: Names) -> None:
        """Takes over what became of the Service with this key."""
        for address in old.owned:
            # Another Service may have got the address meanwhile.
            if self._cluster_ips.get(address) == old.base:
                del self._cluster_ips[address]
                self._count(address, -1)
        for address in new.owned:
            if address not in self._cluster_ips:
                self._count(address, 1)
            self._cluster_ips[address] = new.base
        if old.endpoints != new.endpoints:
            self._replace_endpoints(key, old.endpoints, new.endpoints)

    def _replace_endpoints(self, key: str, old: Iterable[bytes], new: Iterable[bytes]) -> None:
        for address in old:
            others = tuple(holder for holder in self._endpoints[address] if holder != key)
            if others:
                self._endpoints[address] = others
            else:
                del self._endpoints[address]
                self._count(address, -1)
        alone = (key,)
        for address in new:
            holders = self._endpoints.get(address)
            if holders is None:
                self._count(address, 1)
            self._endpoints[address] = (*holders, key) if holders else alone

    def _count(self, address: bytes, by: int) -> None:
        if self._prefixes is None:
            return
        digits, step = address.hex(), 2 if len(address) == 4 else 1
        for size in range(0, len(digits), step):
            prefix = (len(address), digits[:size])
            self._prefixes[prefix] += by
            if not self._prefixes[prefix]:
                del self._prefixes[prefix]

    def _has_below(self, length: int, digits: str) -> bool:
        if self._prefixes is None:
            self._prefixes = Counter()
            for address in (*self._cluster_ips, *self._endpoints):
                self._count(address, 1)
        return self._prefixes[length, digits] > 0

    def find(self, name: bytes) -> Node | None:
        """The node of a reverse name in small letters."""
        six = name.endswith(names.IP6)
        digits = names.address_digits(names.labels(name)[:-2], six)
        if digits is None:
            return None
        if len(digits) == (32 if six else 8):
            return self._pointer(bytes.fromhex(digits))
        return EXISTS if self._has_below(16 if six else 4, digits) else None

    def _pointer(self, address: bytes) -> Node | None:
        """A Service comes before endpoints that have its address."""
        service = self._cluster_ips.get(address)
        found = (service,) if service else tuple(self.endpoint_names(address))
        return Node(ptr=found) if found else None

    def endpoint_names(self, address: bytes) -> Iterator[bytes]:
        for key in self._endpoints.get(address, ()):
            yield from self._names_at(key, address)
