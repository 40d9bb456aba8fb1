"""What the proxy is told on start, and which rules follow from it.

Flags (`fairway.cli.proxy`) and configuration files (`config_file`) both end up as a `Config`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairway.api.objects import Node
from fairway.proxy.model import Family, canonical, family_of
from fairway.proxy.settings import LocalDetection, Settings
from fairway.proxy.spelling import PRIMARY

SCHEDULERS = ("random", "rr")
IPVS_SCHEDULERS = ("rr", "wrr", "lc", "wlc", "lblc", "lblcr", "sh", "dh", "sed", "nq", "mh")
STYLES = ("current", "classic")
HEALTHZ_PORT, METRICS_PORT = 10256, 10249
# Matches nothing: loopback addresses never serve node ports.
_NOWHERE = ("127.0.0.1/32", "::1/128")
# As strict as needed for what goes into rules.
_DEVICE = re.compile(r"[A-Za-z0-9_.@:+-]{1,15}")


class ConfigError(ValueError):
    """The configuration can't be used; the text says what to change."""


@dataclass(frozen=True, slots=True)
class ConntrackLimits:
    """What connection tracking is told on start; a zero leaves the kernel's own value. Times in seconds."""

    max_per_core: int = 32768
    min: int = 131072
    tcp_timeout_established: float = 86400.0
    tcp_timeout_close_wait: float = 3600.0
    tcp_be_liberal: bool = False
    udp_timeout: float = 0.0
    udp_timeout_stream: float = 0.0


@dataclass(frozen=True, slots=True)
class Config:
    kubeconfig: Path | None = None
    """None: as kubectl looks for it."""
    master: str = ""
    """The API server's address, if not the kubeconfig's."""
    hostname_override: str = field(default_factory=lambda: socket.gethostname().lower())
    """The name of this node's Node object."""
    proxy_mode: str = "nftables"
    bind_address: str = ""
    """This node's own address, if not the one that its Node object names first."""
    healthz_bind_address: tuple[str, int] | None = ("0.0.0.0", HEALTHZ_PORT)
    metrics_bind_address: tuple[str, int] | None = ("127.0.0.1", METRICS_PORT)
    bind_address_hard_fail: bool = False
    cluster_cidr: tuple[str, ...] = ()
    """The Pods' ranges. Without them, clients outside the cluster can't be told from Pods."""
    detect_local_mode: LocalDetection = LocalDetection.CLUSTER_CIDR
    pod_bridge_interface: str = ""
    pod_interface_name_prefix: str = ""
    service_cluster_ip_range: tuple[str, ...] = ()
    """The Services' ranges; none means those that the API server names in its ServiceCIDRs."""
    nodeport_addresses: tuple[str, ...] = ()
    """Ranges of this node's addresses that serve node ports, or `primary`; none means all addresses."""
    masquerade_all: bool = False
    masquerade_bit: int = 14
    min_sync_period: float = 0.0
    """Seconds from one programming to the next, at least; 0: at once, but bursts go together."""
    sync_period: float = 0.0
    """Seconds from one full synchronisation to the next; 0: only when something is amiss."""
    nftables_scheduler: str = "random"
    iptables_style: str = "current"
    iptables_localhost_nodeports: bool = True
    ipvs_scheduler: str = "rr"
    ipvs_strict_arp: bool = False
    ipvs_exclude_cidrs: tuple[str, ...] = ()
    proxy_port_range: tuple[int, int] | None = None
    conntrack: ConntrackLimits = ConntrackLimits()
    oom_score_adj: int | None = None
    verbosity: int = 0
    publish_progress: bool | None = None
    """None: if the API server is Fairway's."""
    file: Path | None = None
    """Where this was read from."""
    without_effect: Mapping[str, str] = field(default_factory=dict)
    """What was asked for and does nothing here, with the reason; said once in the log."""

    @property
    def health_timeout(self) -> float:
        """How late programming may be before the proxy counts as unhealthy."""
        return 2 * (self.sync_period or 30.0)


def check(config: Config) -> Config:
    """What no single value can tell."""
    detection = config.detect_local_mode
    if detection is LocalDetection.BRIDGE_INTERFACE and not config.pod_bridge_interface:
        raise ConfigError("detection by BridgeInterface needs the bridge: add --pod-bridge-interface NAME")
    if detection is LocalDetection.INTERFACE_NAME_PREFIX and not config.pod_interface_name_prefix:
        raise ConfigError(
            "detection by InterfaceNamePrefix needs the prefix: add --pod-interface-name-prefix PREFIX"
        )
    name = _pod_interface(config)
    if name and not _DEVICE.fullmatch(name):
        raise ConfigError(f"{name!r} is no name of a network device: see `ip link` for those there are")
    if 0 < config.sync_period < config.min_sync_period:
        raise ConfigError("the sync period must not be shorter than the minimum sync period")
    if not config.hostname_override.strip():
        raise ConfigError("the node's name must not be empty: leave out --hostname-override or name the node")
    return config


def settings(config: Config, node: Node | None, service_cidrs: Iterable[str]) -> Settings:
    """What shapes the rules, as far as it is known by now."""
    return Settings(
        cluster_cidrs=_pod_ranges(config, node),
        service_ranges=config.service_cluster_ip_range or tuple(sorted(set(service_cidrs))),
        nodeport_addresses=_node_port_ranges(config, node),
        masquerade_all=config.masquerade_all,
        masquerade_bit=config.masquerade_bit,
        detection=config.detect_local_mode,
        pod_interface=_pod_interface(config),
        localhost_nodeports=config.iptables_localhost_nodeports,
        node_ips=_node_ips(config, node),
        round_robin=config.nftables_scheduler == "rr",
        classic=config.iptables_style == "classic",
        scheduler=config.ipvs_scheduler,
        strict_arp=config.ipvs_strict_arp,
        excluded_cidrs=config.ipvs_exclude_cidrs,
    )


def _pod_ranges(config: Config, node: Node | None) -> tuple[str, ...]:
    match config.detect_local_mode:
        case LocalDetection.CLUSTER_CIDR:
            return config.cluster_cidr
        case LocalDetection.NODE_CIDR:
            if node is None:
                return ()
            return tuple(node.spec.pod_cidrs or ([node.spec.pod_cidr] if node.spec.pod_cidr else []))
        case _:
            return ()


def _pod_interface(config: Config) -> str:
    match config.detect_local_mode:
        case LocalDetection.BRIDGE_INTERFACE:
            return config.pod_bridge_interface
        case LocalDetection.INTERFACE_NAME_PREFIX:
            return config.pod_interface_name_prefix
        case _:
            return ""


def _node_port_ranges(config: Config, node: Node | None) -> tuple[str, ...]:
    ranges = config.nodeport_addresses
    if PRIMARY not in ranges:
        return ranges
    named = tuple(text for text in ranges if text != PRIMARY)
    return (*_node_ips(config, node), *named) or _NOWHERE


def _node_ips(config: Config, node: Node | None) -> tuple[str, ...]:
    """`bind_address` has the last word for its family, unless it stands for all addresses."""
    found = {family_of(ip): ip for ip in primary_addresses(node)}
    own = config.bind_address
    if own and own not in ("0.0.0.0", "::"):
        found[family_of(own)] = own
    return tuple(found.values())


def primary_addresses(node: Node | None) -> tuple[str, ...]:
    """The first internal address of each family."""
    listed = (node.status.addresses if node else None) or ()
    found: dict[Family, str] = {}
    for entry in listed:
        ip = canonical(entry.address)
        if entry.type == "InternalIP" and ip:
            found.setdefault(family_of(ip), ip)
    return tuple(found.values())
