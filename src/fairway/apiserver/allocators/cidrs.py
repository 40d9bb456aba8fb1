"""The life of ServiceCIDRs: when a range may be used, and when it may go. Pure.

A range that addresses are still taken from is held back by a finalizer, unless another range covers them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.networking.address_range import cidrs_of
from fairway.apiserver.allocators.addresses import DEFAULT_RANGE
from fairway.apiserver.allocators.ranges import Network, address_band

FINALIZER: Final = "networking.k8s.io/service-cidr-finalizer"


@dataclass(frozen=True, slots=True)
class Readiness:
    """The Ready condition of a range, but for its time."""

    status: str
    reason: str
    message: str

    def stands_in(self, service_cidr: Obj) -> bool:
        conditions = (service_cidr.get("status") or {}).get("conditions") or ()
        return any(
            (each["type"], each["status"], each.get("reason"), each.get("message"))
            == ("Ready", self.status, self.reason, self.message)
            for each in conditions
        )


READY: Final = Readiness("True", "", "Kubernetes Service CIDR is ready")
DEFAULT_READY: Final = Readiness("True", "", "Kubernetes default Service CIDR is ready")
IN_USE: Final = Readiness(
    "False",
    "Terminating",
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
)


@dataclass(frozen=True, slots=True)
class RangeStep:
    """What one ServiceCIDR needs next; an empty step is none."""

    name: str
    protect: bool = False
    release: bool = False
    readiness: Readiness | None = None


def plan_ranges(service_cidrs: Sequence[Obj], taken: Iterable[str]) -> list[RangeStep]:
    """`taken` are the addresses that Services have. The cluster's own range is kept by the start-up."""
    addresses = [ipaddress.ip_address(address) for address in taken] if _any_ending(service_cidrs) else []
    steps = []
    for each in service_cidrs:
        metadata = each["metadata"]
        held = FINALIZER in (metadata.get("finalizers") or ())
        if metadata.get("deletionTimestamp"):
            if held:
                steps.append(_ending(each, service_cidrs, addresses))
        elif metadata["name"] != DEFAULT_RANGE:
            readiness = None if READY.stands_in(each) else READY
            steps.append(RangeStep(metadata["name"], protect=not held, readiness=readiness))
    return [step for step in steps if step.protect or step.release or step.readiness]


def _any_ending(service_cidrs: Sequence[Obj]) -> bool:
    return any(each["metadata"].get("deletionTimestamp") for each in service_cidrs)


Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _ending(service_cidr: Obj, all_of_them: Sequence[Obj], addresses: Sequence[Address]) -> RangeStep:
    name = service_cidr["metadata"]["name"]
    staying = [
        network
        for other in all_of_them
        if not other["metadata"].get("deletionTimestamp")
        for network in networks_of(other)
    ]
    for network in networks_of(service_cidr):
        if any(network.version == other.version and _contains(other, network) for other in staying):
            continue
        for address in addresses:
            if _serves(network, address) and not any(_serves(other, address) for other in staying):
                return RangeStep(name, readiness=None if IN_USE.stands_in(service_cidr) else IN_USE)
    return RangeStep(name, release=True)


def networks_of(service_cidr: Obj) -> list[Network]:
    return [ipaddress.ip_network(cidr) for cidr in cidrs_of(service_cidr)]


def _contains(outer: Network, inner: Network) -> bool:
    return outer.prefixlen <= inner.prefixlen and inner.network_address in outer


def _serves(network: Network, address: Address) -> bool:
    """Whether the address is one that the network gives out."""
    return network.version == address.version and int(address) in address_band(network)
