"""The node agent's configuration."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Config:
    """The agent must run as root in the node's network namespace, and in the machine's mount namespace."""

    kubeconfig: Path
    name: str
    data: Path
    pod_cidr: str
    node_ip: str
    cluster_dns: tuple[str, ...] = ("10.96.0.10",)
    cluster_domain: str = "cluster.local"
    # Nodes of one machine may share their images; by default they lie below `data`.
    images: Path | None = None
    # Where Pods appear with their own addresses, besides Pods and nodes: ranges that have a way back to them.
    non_masquerade_cidrs: tuple[str, ...] = ()
    # Where CNI networks are configured; without it Pods are on a bridge of our own.
    cni_conf_dir: Path | None = None
    cni_bin_dirs: tuple[Path, ...] = (Path("/opt/cni/bin"), Path("/usr/lib/cni"))
    max_pods: int = 110
    labels: tuple[tuple[str, str], ...] = ()
    # The server for exec and logs; off unless all three files are given.
    port: int = 10250
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    client_ca: Path | None = None

    @property
    def pod_network(self) -> IPv4Network:
        return IPv4Network(self.pod_cidr)

    @property
    def pods_folder(self) -> Path:
        return self.data / "pods"

    @property
    def seccomp_folder(self) -> Path:
        return self.data / "seccomp"

    @property
    def runtime_folder(self) -> Path:
        return self.data / "runtime"

    @property
    def images_folder(self) -> Path:
        return self.images or self.data / "images"

    @property
    def serves(self) -> bool:
        return None not in (self.tls_certificate, self.tls_key, self.client_ca)
