"""What a Service holds: its cluster IPs and node ports, taken and freed along with its own writes.

An address is an IPAddress object, a port a key under /allocations/. Both must be free when the Service's
transaction commits, so no two Services can hold the same, and a crash leaves neither half behind. The
ranges they come from must still stand then, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import datetime

from fairway.api.errors import StatusError, internal_error
from fairway.api.kind import Obj
from fairway.api.kinds.service.addresses import family_of
from fairway.api.kinds.service.keep import keep_allocated, link_addresses, relink_addresses
from fairway.api.kinds.service.traits import HEADLESS, cluster_ips
from fairway.api.metadata import new_uid, timestamp
from fairway.api.resources import ENDPOINTS, IP_ADDRESSES, SERVICE_CIDRS
from fairway.api.validation.fields import ErrorList, FieldError, invalid, invalid_value
from fairway.apiserver.allocators.addresses import (
    DEFAULT_RANGE,
    OUTSIDE,
    TAKEN,
    AddressPool,
    AddressRange,
    canonical,
    ranges_of,
)
from fairway.apiserver.allocators.families import Families, fill_families, prefers_the_same
from fairway.apiserver.allocators.node_ports import PortChange, PortRefused, PortsExhausted
from fairway.apiserver.allocators.ranges import Network, address_band, port_band
from fairway.apiserver.commit import Rider
from fairway.apiserver.encoding import stored_text
from fairway.apiserver.store import ALLOCATIONS, Store
from fairway.storage.backend import Compare, Delete, Put

NODE_PORTS = f"{ALLOCATIONS}nodeports/"
MANAGED_BY = "ipaddress.kubernetes.io/managed-by"
FAMILY = "ipaddress.kubernetes.io/ip-family"
ALLOCATOR = "ipallocator.k8s.io"


class ServiceAllocator:
    """The companion of Services in every transaction."""

    def __init__(
        self,
        store: Store,
        networks: Sequence[Network],
        node_ports: tuple[int, int],
        clock: Callable[[], datetime],
        rng: random.Random | None = None,
    ) -> None:
        self._store = store
        self._families: Families = tuple(f"IPv{network.version}" for network in networks)
        self._own = [AddressRange(DEFAULT_RANGE, 0, network, address_band(network)) for network in networks]
        self._ports = port_band(*node_ports)
        self._clock = clock
        self._rng = rng or random.Random()
        self._pool = AddressPool((), self.is_taken, self._rng)
        self._pool_of: tuple[int, ...] | None = None

    def ride(self, new: Obj | None, old: Obj | None) -> Rider:
        """Fill in what the Service needs, and say what to write along with it."""
        rider = Rider()
        if new is None:
            assert old is not None
            self._give_back(old, rider)
            return rider
        spec, before = new["spec"], old["spec"] if old is not None else None
        if before is None:
            link_addresses(spec)
        else:
            keep_allocated(spec, before)
            relink_addresses(spec, before)
        refuse(new, fill_families(spec, before, self._families))
        self._addresses(new, before, rider)
        self._node_ports(new, before, rider)
        return rider

    # -- addresses -------------------------------------------------------------------------------------

    def is_taken(self, address: str) -> bool:
        return address in self._store.bucket(IP_ADDRESSES).entries

    def pool(self) -> AddressPool:
        """The ranges as they are now, built anew when a ServiceCIDR has changed.

        The cluster's own range is there even while someone has deleted its object.
        """
        entries = self._store.bucket(SERVICE_CIDRS).entries
        revisions = tuple([entry.revision for entry in entries.values()])
        if revisions != self._pool_of:
            ranges = [each for entry in entries.values() for each in ranges_of(entry.obj(), entry.revision)]
            if DEFAULT_RANGE not in entries:
                ranges += self._own
            self._pool, self._pool_of = AddressPool(ranges, self.is_taken, self._rng), revisions
        return self._pool

    def _addresses(self, new: Obj, before: Obj | None, rider: Rider) -> None:
        spec = new["spec"]
        if before is not None and prefers_the_same(spec, before):
            return
        held = {canonical(address) for address in cluster_ips(before)}
        for index in self._wanted(spec, before):
            self._take(new, index, rider, is_new=before is None)
        keeps = {canonical(address) for address in cluster_ips(spec)}
        rider.operations += [Delete(self._address_key(address)) for address in sorted(held - keeps)]

    def _wanted(self, spec: Obj, before: Obj | None) -> range:
        """Positions in clusterIPs that have to be taken: all of a Service that had none, or the second."""
        if spec["type"] == "ExternalName" or spec.get("clusterIP") == HEADLESS:
            return range(0)
        if before is None or before["type"] == "ExternalName":
            return range(len(spec["ipFamilies"]))
        upgraded = len(before.get("ipFamilies") or ()) == 1 and len(spec["ipFamilies"]) == 2
        return range(1, 2) if upgraded and before.get("clusterIP") != HEADLESS else range(0)

    def _take(self, service: Obj, index: int, rider: Rider, *, is_new: bool) -> None:
        spec = service["spec"]
        addresses = list(spec.get("clusterIPs") or ())
        if index < len(addresses):
            address = canonical(addresses[index])
            found = self._asked_for(service, addresses[index], address)
        else:
            address, found = self._any(spec["ipFamilies"][index])
            addresses.append(address)
        spec["clusterIPs"], spec["clusterIP"] = addresses, addresses[0]
        cidrs = self._store.bucket(SERVICE_CIDRS)
        key = self._address_key(address)
        rider.compares += (Compare(key, 0), Compare(cidrs.storage_key(found.owner), found.revision))
        now = service["metadata"]["creationTimestamp"] if is_new else timestamp(self._clock())
        rider.operations.append(Put(key, stored_text(address_object(address, service["metadata"], now))))

    def _asked_for(self, service: Obj, written: str, address: str) -> AddressRange:
        found = self.pool().range_for(address)
        if found is not None and not self.is_taken(address):
            return found
        detail = f"failed to allocate IP {written}: {OUTSIDE if found is None else TAKEN}"
        error = invalid_value("spec.clusterIPs", service["spec"]["clusterIPs"], detail)
        raise refusal(service, error)

    def _any(self, family: str) -> tuple[str, AddressRange]:
        picked = self.pool().pick(family)
        if picked is None:
            raise internal_error("failed to allocate a serviceIP: range is full")
        return picked

    def _address_key(self, address: str) -> str:
        return self._store.bucket(IP_ADDRESSES).storage_key(address)

    # -- ports -----------------------------------------------------------------------------------------

    def port_change(self) -> PortChange:
        allocations = self._store.allocations
        return PortChange(self._ports, lambda number: port_key(number) in allocations, self._rng)

    def _node_ports(self, new: Obj, before: Obj | None, rider: Rider) -> None:
        change = self.port_change()
        try:
            if before is None:
                change.create(new["spec"])
            else:
                change.update(new["spec"], before)
        except PortRefused as refused:
            raise refusal(new, refused.error) from refused
        except PortsExhausted as exhausted:
            raise internal_error(f"failed to allocate a {exhausted.what}: range is full") from exhausted
        for number in sorted(change.taken):
            rider.compares.append(Compare(port_key(number), 0))
            rider.operations.append(Put(port_key(number), owner_text(new["metadata"])))
        rider.operations += [Delete(port_key(number)) for number in sorted(change.freed)]

    # -- freeing ---------------------------------------------------------------------------------------

    def _give_back(self, old: Obj, rider: Rider) -> None:
        """All that a deleted Service held; its Endpoints go with it, lest the next of its name has them."""
        change = self.port_change()
        change.delete(old["spec"])
        addresses = sorted(canonical(address) for address in cluster_ips(old["spec"]))
        rider.operations += [Delete(self._address_key(address)) for address in addresses]
        rider.operations += [Delete(port_key(number)) for number in sorted(change.freed)]
        endpoints = self._store.bucket(ENDPOINTS)
        key = endpoints.key(old["metadata"]["namespace"], old["metadata"]["name"])
        if key in endpoints.entries:
            rider.operations.append(Delete(endpoints.storage_key(key)))


def address_object(address: str, owner: Obj, now: str) -> Obj:
    """The IPAddress that says which Service has an address."""
    return {
        "metadata": {
            "name": address,
            "uid": new_uid(),
            "creationTimestamp": now,
            "labels": {FAMILY: family_of(address), MANAGED_BY: ALLOCATOR},
        },
        "spec": {
            "parentRef": {
                "resource": "services",
                "namespace": owner["namespace"],
                "name": owner.get("name", ""),
            }
        },
    }


def port_key(number: int) -> str:
    return f"{NODE_PORTS}{number}"


def owner_text(owner: Obj) -> bytes:
    return f'"{owner["namespace"]}/{owner.get("name", "")}"'.encode()


def refuse(service: Obj, errors: ErrorList) -> None:
    if errors:
        raise invalid("Service", "", service["metadata"].get("name", ""), errors)


def refusal(service: Obj, error: FieldError) -> StatusError:
    return invalid("Service", "", service["metadata"].get("name", ""), [error])
