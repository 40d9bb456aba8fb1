"""Repairs: finds allocations and Services that have parted, mends them, and says so in Events.

Thin: what is wrong is told by `repair`. A full pass looks at everything; after an IPAddress was deleted or
changed, a look at just those concerned will do.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import structlog

from fairway.api.errors import StatusError
from fairway.api.kind import Obj
from fairway.api.kinds.event import EVENT
from fairway.api.metadata import timestamp
from fairway.api.resources import IP_ADDRESSES, SERVICE_CIDRS, SERVICES
from fairway.apiserver.allocators.cidrs import networks_of
from fairway.apiserver.allocators.ledger import Entries, parent_of, read_ledger, related
from fairway.apiserver.allocators.ranges import Band, address_band, port_band
from fairway.apiserver.allocators.repair import (
    Change,
    EnterAddress,
    EnterPort,
    Holder,
    Ledger,
    RemoveAddress,
    Repair,
    Report,
    in_bands,
    repair_address,
    repair_ports,
    repair_service,
)
from fairway.apiserver.allocators.services import NODE_PORTS, address_object, owner_text, port_key
from fairway.apiserver.commit import Committer
from fairway.apiserver.encoding import stored_text
from fairway.apiserver.feed import ADDED
from fairway.storage.backend import Compare, CompareFailed, Delete, Operation, Put

log = structlog.get_logger()

SERVER: Final = Holder("default", "kubernetes")


class Repairer:
    def __init__(self, committer: Committer, node_ports: tuple[int, int]) -> None:
        self._committer = committer
        self._store = committer.store
        self._ports = port_band(*node_ports)
        self._seen = 0
        self._reported: set[Report] = set()

    async def full_pass(self) -> None:
        """Everything as of now; planned in a thread, for with many Services it takes a while."""
        services, addresses = (dict(entries) for entries in self._entries())
        ports = {
            int(key.removeprefix(NODE_PORTS)): revision
            for key, revision in self._store.allocations.items()
            if key.startswith(NODE_PORTS)
        }
        self._seen = self._store.revision
        found = await asyncio.to_thread(
            plan_all, services, addresses, ports, self._bands(), self._ports, self._committer.clock()
        )
        self._reported &= {repair.report for repair in found}
        for repair in found:
            await self.mend(repair)

    async def look_at_changes(self) -> None:
        events = self._store.bucket(IP_ADDRESSES).feed.since(self._seen)
        self._seen = self._store.revision
        parents = {parent_of(event.previous) for event in events if event.type != ADDED and event.previous}
        if not parents:
            return
        ledger = related(*self._entries(), parents, self._committer.clock())
        holders = [ledger.services[key] for key in sorted(parents & ledger.services.keys())]
        for repair in plan_addresses(holders, ledger, self._bands()):
            await self.mend(repair)

    def _entries(self) -> tuple[Entries, Entries]:
        return self._store.bucket(SERVICES).entries, self._store.bucket(IP_ADDRESSES).entries

    def _bands(self) -> list[Band]:
        cidrs = [entry.obj() for entry in self._store.bucket(SERVICE_CIDRS).entries.values()]
        return [address_band(network) for each in cidrs for network in networks_of(each)]

    # -- mending ---------------------------------------------------------------------------------------

    async def mend(self, repair: Repair) -> None:
        report = repair.report
        if repair.change is None and report in self._reported:
            return
        try:
            if repair.change is not None:
                await self._store.transact(*self._transaction(repair.change))
        except CompareFailed:
            return  # someone else was at it; the next pass sees what came of it
        self._reported.add(report)
        log.warning("allocation repaired", reason=report.reason, note=report.note)
        with contextlib.suppress(StatusError):
            event = event_of(report, self._committer.clock())
            await self._committer.create(EVENT, event, event["metadata"]["namespace"])

    def _transaction(self, change: Change) -> tuple[list[Compare], list[Operation]]:
        services, addresses = self._store.bucket(SERVICES), self._store.bucket(IP_ADDRESSES)
        if isinstance(change, EnterAddress):
            holder = change.holder
            key = addresses.storage_key(change.address)
            owner = {"namespace": holder.namespace, "name": holder.name}
            obj = address_object(change.address, owner, timestamp(self._committer.clock()))
            stands = Compare(services.storage_key(holder.place), holder.revision)
            return [Compare(key, change.replaces), stands], [Put(key, stored_text(obj))]
        if isinstance(change, RemoveAddress):
            key = addresses.storage_key(change.address)
            return [Compare(key, change.revision)], [Delete(key)]
        key = port_key(change.number)
        if isinstance(change, EnterPort):
            holder = change.holder
            stands = Compare(services.storage_key(holder.place), holder.revision)
            text = owner_text({"namespace": holder.namespace, "name": holder.name})
            return [Compare(key, 0), stands], [Put(key, text)]
        return [Compare(key, change.revision)], [Delete(key)]


def plan_all(
    services: Entries,
    addresses: Entries,
    allocated: Mapping[int, int],
    bands: list[Band],
    ports: Band,
    now: datetime,
) -> list[Repair]:
    ledger = read_ledger(services, addresses, now)
    holders = ledger.services.values()
    found = plan_addresses(holders, ledger, bands)
    for taken in ledger.addresses.values():
        found += repair_address(taken, ledger)
    server = ledger.services.get(SERVER.place, SERVER)
    return found + list(repair_ports(holders, allocated, ports, server))


def plan_addresses(holders: Iterable[Holder], ledger: Ledger, bands: list[Band]) -> list[Repair]:
    return [
        repair
        for holder in holders
        for repair in repair_service(holder, ledger, in_bands(holder.addresses, bands))
    ]


def event_of(report: Report, now: datetime) -> Obj:
    about = reference(report)
    name = f"ip-{about['name'].replace(':', '-')}" if ":" in about["name"] else about["name"]
    return {
        "metadata": {
            "name": f"{name}.{time.time_ns():x}",
            "namespace": about.get("namespace", "default"),
        },
        "involvedObject": about,
        "type": "Warning",
        "reason": report.reason,
        "action": report.action,
        "message": report.note,
        "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingComponent": report.controller,
        "reportingInstance": report.controller,
    }


def reference(report: Report) -> dict[str, str]:
    about = report.about
    if isinstance(about, Holder):
        place: Mapping[str, str] = {"namespace": about.namespace, "name": about.name, "uid": about.uid}
        return {"apiVersion": "v1", "kind": "Service", **place}
    address = {"name": about.name, "uid": about.uid}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", **address}
