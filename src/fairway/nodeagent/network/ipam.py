"""Which Pod has which address of the node's range. Pure; what is on disk is read in by `pod_network`."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network


class NoAddressLeft(Exception):
    """Every address of the node's range is taken."""


class AddressPool:
    """Hands out a range's addresses in turn, so that one just released is not reused at once."""

    def __init__(self, network: IPv4Network) -> None:
        if network.num_addresses < 4:
            raise ValueError(f"{network} is too small for Pods")
        self.network = network
        self.gateway = network[1]
        self._first, self._last = int(network[2]), int(network[-2])
        self._next = self._first
        self._owners: dict[IPv4Address, str] = {}

    def take(self, owner: str) -> IPv4Address:
        """An owner that has an address keeps it."""
        for address, other in self._owners.items():
            if other == owner:
                return address
        size = self._last - self._first + 1
        for offset in range(size):
            number = self._first + (self._next - self._first + offset) % size
            address = IPv4Address(number)
            if address not in self._owners:
                self._next = number + 1
                self._owners[address] = owner
                return address
        raise NoAddressLeft(f"no address left in {self.network}: {size} Pods have one")

    def restore(self, owner: str, address: IPv4Address) -> bool:
        """Enter what a Pod already has; False if it lies outside the range or is another's."""
        inside = self._first <= int(address) <= self._last
        if not inside or self._owners.get(address, owner) != owner:
            return False
        self._owners[address] = owner
        self._next = max(self._next, int(address) + 1)
        return True

    def release(self, owner: str) -> None:
        self._owners = {address: other for address, other in self._owners.items() if other != owner}
