"""What the API server is told on start."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from fairway.apiserver.allocators.ranges import Network


@dataclass(frozen=True, slots=True)
class Config:
    data: Path
    port: int = 6443
    bind: tuple[str, ...] = ("127.0.0.1",)
    # A listening socket that was handed to us, besides those of `bind`; -1 for none.
    inherited_socket: int = -1
    store: str = ""
    """`sqlite:///path`, `etcd://host:2379[,…]` or `memory://`; empty for SQLite under the data directory."""
    service_networks: tuple[Network, ...] = (ipaddress.ip_network("10.96.0.0/16"),)
    node_ports: tuple[int, int] = (30000, 32767)
    advertise_address: str = ""
    token_file: Path | None = None
    disabled_admission: frozenset[str] = frozenset()
    """Admission plugins, by Kubernetes' names, that are not to act."""
    allow_privileged: bool = False
    """Whether containers may be privileged."""
    extra_names: tuple[str, ...] = field(default=())
    """Further DNS names and addresses that the server's certificate is good for."""

    @property
    def advertised(self) -> str:
        return self.advertise_address or self.bind[0]

    @property
    def service_address(self) -> str:
        """The first address of the Service range: the API server's own virtual IP."""
        return str(self.service_networks[0].network_address + 1)
