"""How rules are worded: what settings, family and node make of the texts that all Service ports share.

Rules are written just as `iptables-save` prints them, so that what is planned can be compared with what is
there.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from fairway.proxy.model import Family
from fairway.proxy.settings import LocalDetection, Settings, in_family

_LARGE = 1000
_ZERO = {Family.IPV4: "0.0.0.0/0", Family.IPV6: "::/0"}


@dataclass(frozen=True, slots=True)
class Host:
    """What the rules depend on and only the node itself can say."""

    addresses: frozenset[str] = frozenset()
    liberal: bool = False
    """Whether the kernel takes TCP segments outside the window, so that dropping them would be wrong."""


@dataclass(frozen=True, slots=True)
class Style:
    """How one family's rules are worded."""

    family: Family
    settings: Settings = Settings()  # noqa: RUF009  (immutable)
    host: Host = Host()
    brief: bool = False
    """Without the comments that name endpoints: with many, they are nearly half of all that is loaded."""

    @property
    def classic(self) -> bool:
        return self.settings.classic

    @property
    def mark(self) -> str:
        return self.settings.masquerade_mark

    @property
    def drop_mark(self) -> str:
        """0x8000, unless that bit means something else already."""
        return "0x8000" if self.settings.masquerade_bit != 15 else "0x4000"

    @property
    def reject(self) -> str:
        return f"REJECT --reject-with icmp{'' if self.family is Family.IPV4 else '6'}-port-unreachable"

    @property
    def whole_address(self) -> str:
        return "255.255.255.255" if self.family is Family.IPV4 else ":".join(["ffff"] * 8)

    def host_range(self, ip: str) -> str:
        return f"{ip}/32" if self.family is Family.IPV4 else f"{ip}/128"

    def includes_node(self, ranges: tuple[str, ...]) -> bool:
        """Whether this node's own address of the family lies in one of the ranges."""
        own = [ipaddress.ip_address(ip) for ip in in_family(self.settings.node_ips, self.family)]
        return any(ip in ipaddress.ip_network(text) for text in ranges for ip in own[:1])

    @property
    def local_source(self) -> str:
        """The range that clients inside the cluster are told by; empty if they aren't told by a range."""
        by_range = self.settings.detection in (LocalDetection.CLUSTER_CIDR, LocalDetection.NODE_CIDR)
        ranges = in_family(self.settings.cluster_cidrs, self.family) if by_range else ()
        return ranges[0] if ranges and ranges[0] != _ZERO[self.family] else ""

    @property
    def local_interface(self) -> str:
        name = self.settings.pod_interface
        match self.settings.detection:
            case LocalDetection.BRIDGE_INTERFACE:
                return name
            case LocalDetection.INTERFACE_NAME_PREFIX if name:
                return f"{name}+"
        return ""

    @property
    def tells_local(self) -> bool:
        return bool(self.local_source or self.local_interface)

    # -- node ports ------------------------------------------------------------------------------------

    @property
    def _nodeport_networks(self) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
        chosen = in_family(self.settings.nodeport_addresses, self.family) or (_ZERO[self.family],)
        return tuple(ipaddress.ip_network(text, strict=False) for text in chosen)

    @property
    def nodeports_everywhere(self) -> bool:
        return any(network.prefixlen == 0 for network in self._nodeport_networks)

    @property
    def nodeports_on_localhost(self) -> bool:
        """127.0.0.1 needs `route_localnet`; there is no such thing for ::1."""
        if self.family is Family.IPV6 or not self.settings.localhost_nodeports:
            return False
        loopback = ipaddress.ip_address("127.0.0.0")
        return any(n.network_address.is_loopback or loopback in n for n in self._nodeport_networks)

    @property
    def nodeport_addresses(self) -> tuple[str, ...]:
        """This node's addresses that serve node ports, where not all do."""
        found = []
        for ip in sorted(self.host.addresses):
            address = ipaddress.ip_address(ip)
            if address.is_loopback and not self.nodeports_on_localhost:
                continue
            if any(address in network for network in self._nodeport_networks):
                found.append(ip)
        return tuple(found)


def is_large(endpoints: int) -> bool:
    """Whether a cluster has so many endpoints that comments must go."""
    return endpoints > _LARGE


def comment(text: str) -> str:
    return f'-m comment --comment "{text}"'


def probability(endpoints: int) -> str:
    """One in so many, as the kernel rounds it: in parts of two to the power of 31."""
    return f"{round((1 << 31) / endpoints) / (1 << 31):.11f}"
