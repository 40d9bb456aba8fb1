"""Allocations against Services: what is taken but not held, and held but not taken. Pure.

A Service and what it holds are written together, so they part only when someone deletes an IPAddress by
hand, or writes one in the allocator's name, or when a store was brought back in pieces. The reasons given
in Events are those of Kubernetes' own repair controllers.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from fairway.apiserver.allocators.ranges import Band

GRACE: Final = timedelta(seconds=60)
IP_CONTROLLER: Final = "ipallocator-repair-controller"
PORT_CONTROLLER: Final = "portallocator-repair-controller"


class Holder(msgspec.Struct, frozen=True):
    """A Service and what it holds; addresses in canonical form, node ports with the health check's."""

    namespace: str
    name: str
    uid: str = ""
    revision: int = 0
    addresses: tuple[str, ...] = ()
    ports: frozenset[int] = frozenset()

    @property
    def place(self) -> str:
        return f"{self.namespace}/{self.name}"


class TakenAddress(msgspec.Struct, frozen=True):
    """An IPAddress object: who it says it belongs to, and whether the allocator made it."""

    name: str
    uid: str = ""
    revision: int = 0
    created: str = ""
    parent: str = ""
    """`namespace/name` of the Service; empty if it refers to something else."""
    is_managed: bool = True
    is_labelled: bool = True


@dataclass(frozen=True, slots=True)
class Report:
    """One Event: what was found, about which object."""

    about: Holder | TakenAddress
    reason: str
    action: str
    note: str
    controller: str


@dataclass(frozen=True, slots=True)
class EnterAddress:
    """Make (or make anew) the IPAddress that a Service holds."""

    address: str
    holder: Holder
    replaces: int = 0
    """The revision of an IPAddress that is there, but wrong."""


@dataclass(frozen=True, slots=True)
class RemoveAddress:
    address: str
    revision: int


@dataclass(frozen=True, slots=True)
class EnterPort:
    number: int
    holder: Holder


@dataclass(frozen=True, slots=True)
class RemovePort:
    number: int
    revision: int


Change = EnterAddress | RemoveAddress | EnterPort | RemovePort


@dataclass(frozen=True, slots=True)
class Repair:
    """Something found, and what mends it, if anything does."""

    report: Report
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """Services and taken addresses, as of one revision and one moment."""

    services: Mapping[str, Holder]
    addresses: Mapping[str, TakenAddress]
    now: datetime


def family_of(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def in_bands(addresses: Iterable[str], bands: Iterable[Band]) -> frozenset[str]:
    """Those of the addresses that some range gives out. Bands of the two families never meet."""
    found = []
    for address in addresses:
        number = number_of(address)
        if any(number in band for band in bands):
            found.append(address)
    return frozenset(found)


def number_of(address: str) -> int:
    if ":" in address:
        return int(ipaddress.IPv6Address(address))
    first, second, third, fourth = address.split(".")
    return int(first) << 24 | int(second) << 16 | int(third) << 8 | int(fourth)


# -- addresses -----------------------------------------------------------------------------------------


def repair_service(holder: Holder, ledger: Ledger, in_range: frozenset[str]) -> Iterator[Repair]:
    """`in_range` are those of its addresses that some range covers."""
    for address in holder.addresses:
        found = ledger.addresses.get(address)
        where = f"[{family_of(address)}]: {address}"
        if address not in in_range:
            note = f"Cluster IP {where} is not within any configured Service CIDR; please recreate service"
            yield Repair(_about_service(holder, "ClusterIPOutOfRange", note))
        elif found is None:
            note = f"Cluster IP {where} is not allocated; repairing"
            report = _about_service(holder, "ClusterIPNotAllocated", note)
            yield Repair(report, EnterAddress(address, holder))
        elif found.parent != holder.place:
            yield _wrong_parent(holder, found, where, ledger)
        elif not found.is_labelled:
            note = f"the ClusterIP {where} for Service {holder.place} has wrong labels; repairing"
            report = _about_service(holder, "ClusterIPNotAllocated", note)
            yield Repair(report, EnterAddress(address, holder, found.revision))


def _wrong_parent(holder: Holder, found: TakenAddress, where: str, ledger: Ledger) -> Repair:
    other = ledger.services.get(found.parent)
    if other is not None and found.name in other.addresses:
        note = f"Cluster IP {where} was assigned to multiple services; please recreate service"
        return Repair(_about_service(holder, "ClusterIPAlreadyAllocated", note))
    note = f"the ClusterIP {where} for Service {holder.place} has a wrong reference; repairing"
    report = _about_service(holder, "ClusterIPNotAllocated", note)
    return Repair(report, EnterAddress(found.name, holder, found.revision))


def repair_address(found: TakenAddress, ledger: Ledger) -> Iterator[Repair]:
    """Addresses that others made are theirs to look after."""
    if not found.is_managed:
        return
    holder = ledger.services.get(found.parent)
    if not found.parent:
        note = f"IPAddress {found.name} appears to have been modified, not referencing a Service: cleaning up"
        reason = "IPAddressNotAllocated"
    elif holder is None:
        if ledger.now - datetime.fromisoformat(found.created) < GRACE:
            return
        note = f"IPAddress: {found.name} for Service {found.parent} appears to have leaked: cleaning up"
        reason = "IPAddressNotAllocated"
    elif found.name not in holder.addresses:
        note = f"IPAddress: {found.name} for Service {holder.place} has a wrong reference; cleaning up"
        reason = "IPAddressWrongReference"
    else:
        return
    report = Report(found, reason, "IPAddressAllocation", note, IP_CONTROLLER)
    yield Repair(report, RemoveAddress(found.name, found.revision))


def _about_service(holder: Holder, reason: str, note: str) -> Report:
    return Report(holder, reason, "ClusterIPAllocation", note, IP_CONTROLLER)


# -- ports ---------------------------------------------------------------------------------------------


def repair_ports(
    holders: Iterable[Holder], allocated: Mapping[int, int], band: Band, server: Holder
) -> Iterator[Repair]:
    """`allocated` has the revision of each port; `server` is what a port that nobody holds is reported of."""
    owners: dict[int, Holder] = {}
    for holder in holders:
        for number in sorted(holder.ports):
            if number in owners:
                note = f"Port {number} was assigned to multiple services; please recreate service"
                yield Repair(_about_port(holder, "PortAlreadyAllocated", note))
            elif number not in band:
                span = f"{band.first}-{band.last}"
                note = f"Port {number} is not within the port range {span}; please recreate service"
                yield Repair(_about_port(holder, "PortOutOfRange", note))
            elif number not in allocated:
                note = f"Port {number} is not allocated; repairing"
                yield Repair(_about_port(holder, "PortNotAllocated", note), EnterPort(number, holder))
            owners.setdefault(number, holder)
    for number in sorted(allocated.keys() - owners.keys()):
        note = f"Port {number} appears to have leaked: cleaning up"
        yield Repair(_about_port(server, "PortLeaked", note), RemovePort(number, allocated[number]))


def _about_port(holder: Holder, reason: str, note: str) -> Report:
    return Report(holder, reason, "PortAllocation", note, PORT_CONTROLLER)
