"""Stored objects as the repair planner sees them: who holds what, and nothing of the rest is decoded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from fairway.api.kinds.service.addresses import family_of
from fairway.api.kinds.service.traits import PUBLISHED
from fairway.apiserver.allocators.addresses import canonical
from fairway.apiserver.allocators.repair import Holder, Ledger, TakenAddress
from fairway.apiserver.allocators.services import ALLOCATOR, FAMILY, MANAGED_BY
from fairway.apiserver.entry import Entry


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    creation_timestamp: str = ""
    labels: dict[str, str] | None = None


class _Port(msgspec.Struct, frozen=True, rename="camel"):
    node_port: int = 0


class _ServiceSpec(msgspec.Struct, frozen=True):
    type: str = "ClusterIP"
    cluster_ips: list[str] = msgspec.field(default_factory=list, name="clusterIPs")
    ports: list[_Port] = msgspec.field(default_factory=list)
    health_check_node_port: int = msgspec.field(default=0, name="healthCheckNodePort")


class _Service(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _ServiceSpec


class _Parent(msgspec.Struct, frozen=True):
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""


class _AddressSpec(msgspec.Struct, frozen=True, rename="camel"):
    parent_ref: _Parent = _Parent()


class _Address(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _AddressSpec = _AddressSpec()


_service = msgspec.json.Decoder(_Service).decode
_address = msgspec.json.Decoder(_Address).decode


Entries = Mapping[str, Entry]


def read_ledger(services: Entries, addresses: Entries, now: datetime) -> Ledger:
    holders = {key: holder_of(entry) for key, entry in services.items()}
    return Ledger(holders, {key: taken_address(entry) for key, entry in addresses.items()}, now)


def related(services: Entries, addresses: Entries, keys: set[str], now: datetime) -> Ledger:
    """Only what hangs together with a few Services: the addresses they hold, and who else claims those."""
    holders = {key: holder_of(services[key]) for key in keys if key in services}
    names = {address for holder in holders.values() for address in holder.addresses}
    taken = {name: taken_address(addresses[name]) for name in names if name in addresses}
    claiming = {each.parent for each in taken.values() if each.parent in services} - holders.keys()
    return Ledger(holders | {key: holder_of(services[key]) for key in claiming}, taken, now)


def holder_of(entry: Entry) -> Holder:
    service = _service(b"{" + entry.body)
    spec = service.spec
    addresses: tuple[str, ...] = ()
    if spec.type != "ExternalName":
        addresses = tuple(canonical(each) for each in spec.cluster_ips if each not in ("", "None"))
    ports: set[int] = set()
    if spec.type in PUBLISHED:
        ports = {port.node_port for port in spec.ports} | {spec.health_check_node_port}
    return Holder(
        entry.namespace, entry.name, service.metadata.uid, entry.revision, addresses, frozenset(ports - {0})
    )


def taken_address(entry: Entry) -> TakenAddress:
    address = _address(b"{" + entry.body)
    labels = address.metadata.labels or {}
    parent = address.spec.parent_ref
    is_managed = labels.get(MANAGED_BY) == ALLOCATOR
    of_a_service = parent.group == "" and parent.resource == "services"
    return TakenAddress(
        entry.name,
        address.metadata.uid,
        entry.revision,
        address.metadata.creation_timestamp,
        f"{parent.namespace}/{parent.name}" if of_a_service else "",
        is_managed,
        is_managed and labels.get(FAMILY) == family_of(entry.name),
    )


def parent_of(entry: Entry) -> str:
    """The Service that an IPAddress belongs, or belonged, to."""
    parent = _address(b"{" + entry.body).spec.parent_ref
    return f"{parent.namespace}/{parent.name}"
