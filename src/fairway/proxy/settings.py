"""What of the configuration shapes the rules, in whatever proxy mode.

One value for all modes, made in `config` from flags, the configuration file and this node's own object; each
mode takes from it what it knows.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import lru_cache

from fairway.proxy.model import Family, family_of


class LocalDetection(enum.StrEnum):
    """How traffic of this cluster's Pods is told from that of strangers, by kube-proxy's names."""

    CLUSTER_CIDR = "ClusterCIDR"
    NODE_CIDR = "NodeCIDR"
    BRIDGE_INTERFACE = "BridgeInterface"
    INTERFACE_NAME_PREFIX = "InterfaceNamePrefix"


@dataclass(frozen=True, slots=True)
class Settings:
    cluster_cidrs: tuple[str, ...] = ()
    """The ranges that tell Pods from strangers: the cluster's, or with NodeCIDR this node's."""
    service_ranges: tuple[str, ...] = ()
    nodeport_addresses: tuple[str, ...] = ()
    """Ranges; none means every address of the node."""
    masquerade_all: bool = False
    masquerade_bit: int = 14
    detection: LocalDetection = LocalDetection.CLUSTER_CIDR
    pod_interface: str = ""
    """The bridge, or the prefix of names, for those ways of detection."""
    localhost_nodeports: bool = True
    """Whether 127.0.0.1 serves node ports, in the modes that can do that."""
    node_ips: tuple[str, ...] = ()
    """This node's own addresses, one for each family."""
    round_robin: bool = False
    """nftables only."""
    classic: bool = False
    """iptables only: rules as releases of the books' time wrote them."""
    scheduler: str = "rr"
    """ipvs only, as the next two."""
    strict_arp: bool = False
    excluded_cidrs: tuple[str, ...] = ()

    @property
    def masquerade_mark(self) -> str:
        return f"{1 << self.masquerade_bit:#x}"

    def knows_service_ranges(self, family: Family) -> bool:
        return bool(in_family(self.service_ranges, family))


@lru_cache(maxsize=64)
def in_family(ranges: tuple[str, ...], family: Family) -> tuple[str, ...]:
    return tuple(text for text in ranges if family_of(text) is family)
