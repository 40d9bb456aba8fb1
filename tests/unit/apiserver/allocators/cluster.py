"""An API server's inside without its outside: store, committer and allocators over a store in memory."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from fairway.api.errors import StatusError
from fairway.api.kinds import ALL
from fairway.api.kinds.service import SERVICE
from fairway.api.resources import ENDPOINTS, IP_ADDRESSES, SERVICE_CIDRS, SERVICES, Resource
from fairway.apiserver.allocators.endpoints import EndpointsGuard
from fairway.apiserver.allocators.range_keeper import RangeKeeper, ensure_default_range
from fairway.apiserver.allocators.repairer import Repairer
from fairway.apiserver.allocators.services import NODE_PORTS, ServiceAllocator
from fairway.apiserver.commit import Committer, Companion
from fairway.apiserver.entry import Entry
from fairway.apiserver.store import Store
from fairway.apiserver.verbs.delete import Options, delete_entry
from fairway.storage.backend import Delete, Put
from fairway.storage.memory import MemoryBackend

Obj = dict[str, Any]
KINDS = {kind.resource: kind for kind in ALL}
NAMESPACE = "ns"


class Cluster:
    def __init__(self, cidrs: tuple[str, ...], ports: tuple[int, int], seed: int) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.store = Store(MemoryBackend(), ALL)
        companions: dict[Resource, Companion] = {}
        self.committer = Committer(self.store, companions, lambda: self.now)
        self.networks = [ipaddress.ip_network(cidr) for cidr in cidrs]
        self.allocator = ServiceAllocator(
            self.store, self.networks, ports, self.committer.clock, Random(seed)
        )
        companions[SERVICES] = self.allocator
        companions[ENDPOINTS] = EndpointsGuard(self.store)
        self.keeper = RangeKeeper(self.committer, self.networks)
        self.repairer = Repairer(self.committer, ports)

    async def open(self) -> None:
        await self.store.open()
        for name in ("default", NAMESPACE):
            kind = next(kind for kind in ALL if kind.resource.plural == "namespaces")
            await self.committer.create(kind, {"metadata": {"name": name}}, "")
        await ensure_default_range(self.committer, self.networks)

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    # -- clients -------------------------------------------------------------------------------------------

    async def create(self, name: str, dry_run: bool = False, **spec: Any) -> Obj:
        obj: Obj = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]} | spec}
        return (await self.committer.create(SERVICE, obj, NAMESPACE, dry_run=dry_run)).obj

    async def change(self, name: str, **spec: Any) -> Obj:
        """A merge patch: None takes a field out."""

        def patched(old: Obj) -> Obj:
            fields = {key: value for key, value in (old["spec"] | spec).items() if value is not None}
            return {**old, "spec": fields}

        return (await self.committer.update(SERVICE, f"{NAMESPACE}/{name}", patched)).obj

    async def delete(self, name: str) -> None:
        await self.delete_object(SERVICES, f"{NAMESPACE}/{name}")

    async def delete_object(self, resource: Resource, key: str) -> None:
        await delete_entry(self, KINDS[resource], key, Options())  # type: ignore[arg-type]

    async def create_object(self, resource: Resource, obj: Obj, namespace: str = "") -> Obj:
        return (await self.committer.create(KINDS[resource], obj, namespace)).obj

    async def refusal(self, name: str, **spec: Any) -> str:
        try:
            await self.create(name, **spec)
        except StatusError as error:
            return f"{error.code} {error.message}"
        raise AssertionError(f"{name} was accepted")

    # -- what is there -------------------------------------------------------------------------------------

    def entries(self, resource: Resource) -> dict[str, Entry]:
        return self.store.bucket(resource).entries

    def addresses(self) -> dict[str, str]:
        """Taken addresses, and who has each."""
        return {
            name: "{namespace}/{name}".format(**entry.obj()["spec"]["parentRef"])
            for name, entry in self.entries(IP_ADDRESSES).items()
        }

    def ports(self) -> set[int]:
        return {int(key.removeprefix(NODE_PORTS)) for key in self.store.allocations}

    def held(self) -> tuple[dict[str, str], set[int]]:
        """What the Services say they have."""
        addresses: dict[str, str] = {}
        ports: set[int] = set()
        for key, entry in self.entries(SERVICES).items():
            spec = entry.obj()["spec"]
            for address in spec.get("clusterIPs") or ():
                if address != "None":
                    assert address not in addresses, f"{address} is held twice"
                    addresses[address] = key
            if spec["type"] not in ("NodePort", "LoadBalancer"):
                continue
            mine = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
            mine |= {spec["healthCheckNodePort"]} if spec.get("healthCheckNodePort") else set()
            assert not mine & ports, f"{mine & ports} are held twice"
            ports |= mine
        return addresses, ports

    def balances(self) -> bool:
        """Whether what is taken is exactly what is held."""
        return (self.addresses(), self.ports()) == self.held()

    def range(self, name: str) -> Obj:
        return self.entries(SERVICE_CIDRS)[name].obj()

    async def meddle(self, *operations: Put | Delete) -> None:
        """Write past the API, as a broken restore would."""
        await self.store.transact([], operations)


@asynccontextmanager
async def cluster(
    *cidrs: str, ports: tuple[int, int] = (30000, 32767), seed: int = 1
) -> AsyncIterator[Cluster]:
    made = Cluster(cidrs or ("10.96.0.0/16",), ports, seed)
    await made.open()
    try:
        yield made
    finally:
        await made.store.close()
