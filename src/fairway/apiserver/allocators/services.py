"""What a Service holds: its cluster IPs and node ports, taken and freed along with its own writes.

An address is an IPAddress object, a port a key under /allocations/. Both must be free when the Service's
transaction commits, so no two Services can hold the same, and a crash leaves neither half behind.
"""

from __future__ import annotations

import ipaddress
import json
import random
import uuid
from collections.abc import Callable
from datetime import datetime

from fairway.api.errors import StatusError, internal_error
from fairway.api.kind import Obj
from fairway.api.kinds.service import PUBLISHED, needs_health_check_port
from fairway.api.metadata import timestamp
from fairway.api.resources import IP_ADDRESSES
from fairway.api.validation.fields import FieldError, invalid, invalid_value
from fairway.apiserver.allocators.families import family_of, fill_families
from fairway.apiserver.allocators.ranges import Band, Network, address_band, pick_free, port_band
from fairway.apiserver.commit import Rider
from fairway.apiserver.encoding import stored_text
from fairway.apiserver.store import ALLOCATIONS, Store
from fairway.storage.backend import Compare, Delete, Put

NODE_PORTS = f"{ALLOCATIONS}nodeports/"


class ServiceAllocator:
    """The companion of Services in every transaction."""

    def __init__(
        self,
        store: Store,
        networks: list[Network],
        node_ports: tuple[int, int],
        clock: Callable[[], datetime],
        rng: random.Random | None = None,
    ) -> None:
        self._store = store
        self._networks = networks
        self._ports = port_band(*node_ports)
        self._clock = clock
        self._rng = rng or random.Random()

    def ride(self, new: Obj | None, old: Obj | None) -> Rider:
        rider = Rider()
        held = held_addresses(old)
        held_ports = {port for port, _ in node_ports_of(old)}
        if new is not None:
            self._take_addresses(new, old, rider)
            self._take_ports(new, held_ports, rider)
        self._free(rider, held - held_addresses(new), held_ports - {port for port, _ in node_ports_of(new)})
        return rider

    # -- addresses -------------------------------------------------------------------------------------

    def _take_addresses(self, new: Obj, old: Obj | None, rider: Rider) -> None:
        spec = new["spec"]
        if spec["type"] == "ExternalName":
            return
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        elif spec.get("clusterIPs") and not spec.get("clusterIP"):
            spec["clusterIP"] = spec["clusterIPs"][0]
        fill_families(spec, [f"IPv{network.version}" for network in self._networks])
        if spec.get("clusterIP") == "None":
            spec["clusterIPs"] = ["None"]
            return
        chosen = list(spec.get("clusterIPs") or ())
        held = held_addresses(old)
        for position, family in enumerate(spec["ipFamilies"]):
            if position >= len(chosen):
                chosen.append(self._pick_address(new, family))
            elif chosen[position] not in held:
                self._check_address(new, chosen[position])
            if chosen[position] not in held:
                self._take_address(new, chosen[position], rider)
        spec["clusterIPs"], spec["clusterIP"] = chosen, chosen[0]

    def _address_key(self, address: str) -> str:
        return self._store.bucket(IP_ADDRESSES).storage_key(address)

    def _is_taken(self, address: str) -> bool:
        return address in self._store.bucket(IP_ADDRESSES).entries

    def _network(self, family: str) -> Network | None:
        return next((n for n in self._networks if f"IPv{n.version}" == family), None)

    def _pick_address(self, service: Obj, family: str) -> str:
        network = self._network(family)
        if network is None:
            raise refusal(
                service,
                invalid_value("spec.ipFamilies[0]", family, "not configured on this cluster"),
            )
        make = ipaddress.IPv4Address if network.version == 4 else ipaddress.IPv6Address
        number = pick_free(
            address_band(network), lambda candidate: self._is_taken(str(make(candidate))), self._rng
        )
        if number is None:
            raise internal_error(
                f"failed to allocate a serviceIP: range is full: {network} has no free address left"
            )
        return str(make(number))

    def _check_address(self, service: Obj, address: str) -> None:
        network = self._network(family_of(address))
        ips = service["spec"]["clusterIPs"]
        if network is None or int(ipaddress.ip_address(address)) not in address_band(network):
            detail = f"failed to allocate IP {address}: the provided network does not match the current range"
            raise refusal(service, invalid_value("spec.clusterIPs", ips, detail))
        if self._is_taken(address):
            detail = f"failed to allocate IP {address}: provided IP is already allocated"
            raise refusal(service, invalid_value("spec.clusterIPs", ips, detail))

    def _take_address(self, service: Obj, address: str, rider: Rider) -> None:
        metadata = service["metadata"]
        obj = {
            "metadata": {
                "name": address,
                "uid": str(uuid.uuid4()),
                "creationTimestamp": timestamp(self._clock()),
                "labels": {
                    "ipaddress.kubernetes.io/ip-family": family_of(address),
                    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
                },
            },
            "spec": {
                "parentRef": {
                    "resource": "services",
                    "namespace": metadata["namespace"],
                    "name": metadata["name"],
                }
            },
        }
        rider.compares.append(Compare(self._address_key(address), 0))
        rider.operations.append(Put(self._address_key(address), stored_text(obj)))

    # -- ports -----------------------------------------------------------------------------------------

    def _take_ports(self, new: Obj, held: set[int], rider: Rider) -> None:
        spec = new["spec"]
        taken_now: dict[int, str] = {}
        for position, port in enumerate(spec.get("ports") or () if wants_node_ports(spec) else ()):
            number = port.get("nodePort") or 0
            field = f"spec.ports[{position}].nodePort"
            if not number:
                number = self._pick_port({*taken_now, *held})
                port["nodePort"] = number
            elif number not in held and number not in taken_now:
                self._check_port(new, field, number)
            taken_now[number] = field
        if needs_health_check_port(spec):
            number = spec.get("healthCheckNodePort") or 0
            if not number:
                number = spec["healthCheckNodePort"] = self._pick_port({*taken_now, *held})
            elif number not in held:
                self._check_port(new, "spec.healthCheckNodePort", number)
            taken_now[number] = "spec.healthCheckNodePort"
        owner = f"{new['metadata']['namespace']}/{new['metadata']['name']}".encode()
        for number in taken_now.keys() - held:
            rider.compares.append(Compare(port_key(number), 0))
            rider.operations.append(Put(port_key(number), json.dumps(owner.decode()).encode()))

    def _pick_port(self, used: set[int]) -> int:
        band: Band = self._ports
        number = pick_free(band, lambda n: n in used or port_key(n) in self._store.allocations, self._rng)
        if number is None:
            raise internal_error("failed to allocate a nodePort: range is full")
        return number

    def _check_port(self, service: Obj, field: str, number: int) -> None:
        if number not in self._ports:
            detail = (
                "provided port is not in the valid range. The range of valid ports is"
                f" {self._ports.first}-{self._ports.last}"
            )
            raise refusal(service, invalid_value(field, number, detail))
        if port_key(number) in self._store.allocations:
            raise refusal(service, invalid_value(field, number, "provided port is already allocated"))

    # -- freeing ---------------------------------------------------------------------------------------

    def _free(self, rider: Rider, addresses: set[str], ports: set[int]) -> None:
        rider.operations += [Delete(self._address_key(address)) for address in sorted(addresses)]
        rider.operations += [Delete(port_key(port)) for port in sorted(ports)]


def port_key(number: int) -> str:
    return f"{NODE_PORTS}{number}"


def wants_node_ports(spec: Obj) -> bool:
    if spec["type"] == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False or any(
            port.get("nodePort") for port in spec.get("ports") or ()
        )
    return bool(spec["type"] == "NodePort")


def held_addresses(service: Obj | None) -> set[str]:
    if service is None or service["spec"].get("type") == "ExternalName":
        return set()
    return {address for address in service["spec"].get("clusterIPs") or () if address not in ("", "None")}


def node_ports_of(service: Obj | None) -> list[tuple[int, str]]:
    if service is None or service["spec"].get("type") not in PUBLISHED:
        return []
    spec = service["spec"]
    ports = [(port["nodePort"], port["protocol"]) for port in spec.get("ports") or () if port.get("nodePort")]
    if spec.get("healthCheckNodePort"):
        ports.append((spec["healthCheckNodePort"], "TCP"))
    return ports


def refusal(service: Obj, error: FieldError) -> StatusError:
    return invalid("Service", "", service["metadata"].get("name", ""), [error])
