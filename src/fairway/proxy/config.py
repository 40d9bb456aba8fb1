"""What the proxy is told on start, and which rules follow from it."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fairway.api.objects import Node
from fairway.proxy.model import Family, canonical, family_of
from fairway.proxy.settings import Settings

SCHEDULERS = ("random", "rr")
PRIMARY = "primary"
# Matches nothing: loopback addresses never serve node ports.
_NOWHERE = ("127.0.0.1/32", "::1/128")


@dataclass(frozen=True, slots=True)
class Config:
    kubeconfig: Path | None = None
    """None: as kubectl looks for it."""
    hostname_override: str = field(default_factory=lambda: socket.gethostname().lower())
    """The name of this node's Node object."""
    proxy_mode: str = "nftables"
    cluster_cidr: tuple[str, ...] = ()
    """The Pods' ranges. Without them, clients outside the cluster can't be told from Pods."""
    service_cluster_ip_range: tuple[str, ...] = ()
    """The Services' ranges; none means those that the API server names in its ServiceCIDRs."""
    nodeport_addresses: tuple[str, ...] = ()
    """Ranges of this node's addresses that serve node ports, or `primary`; none means all addresses."""
    masquerade_all: bool = False
    nftables_scheduler: str = "random"
    publish_progress: bool | None = None
    """None: if the API server is Fairway's."""


def settings(config: Config, node: Node | None, service_cidrs: Iterable[str]) -> Settings:
    """What shapes the rules, as far as it is known by now."""
    addresses = config.nodeport_addresses
    if addresses == (PRIMARY,):
        addresses = primary_addresses(node) or _NOWHERE
    return Settings(
        cluster_cidrs=config.cluster_cidr,
        service_ranges=config.service_cluster_ip_range or tuple(sorted(set(service_cidrs))),
        nodeport_addresses=addresses,
        masquerade_all=config.masquerade_all,
        round_robin=config.nftables_scheduler == "rr",
    )


def primary_addresses(node: Node | None) -> tuple[str, ...]:
    """The first internal address of each family, as a range."""
    listed = (node.status.addresses if node else None) or ()
    found: dict[Family, str] = {}
    for entry in listed:
        ip = canonical(entry.address)
        if entry.type == "InternalIP" and ip:
            found.setdefault(family_of(ip), ip)
    return tuple(found.values())
