"""A Pod's network: a namespace, a pair of devices into the node's bridge, an address.

Blocking calls, a few milliseconds each; the worker runs them in a thread. The record is written before
anything is made, so whatever a crash leaves behind can be found and taken away.
"""

from __future__ import annotations

import hashlib
import threading
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from typing import Protocol

import msgspec

from fairway.kernel import namespaces, sysctl
from fairway.kernel.netlink import Netlink, Route, inside, opened
from fairway.nodeagent.network.host_ports import HostPort, clashing
from fairway.nodeagent.network.ipam import AddressPool

BRIDGE = "fairway-pods"
RECORD = "network.json"
_INSIDE = "eth0"
_DEFAULT = IPv4Network("0.0.0.0/0")


class PodNetwork(msgspec.Struct, frozen=True):
    """What a Pod was given; also the record on disk."""

    uid: str
    address: str
    namespace: str
    device: str
    host_ports: tuple[HostPort, ...] = ()

    @property
    def namespace_path(self) -> Path:
        return namespaces.path_of(self.namespace)


class PortTaken(Exception):
    """A port of the node that a Pod asks for leads to another already, whose uid is `owner`."""

    def __init__(self, port: HostPort, owner: str) -> None:
        super().__init__(f"node port {port.protocol} {port.port} is taken by another Pod")
        self.owner = owner


def short(uid: str) -> str:
    """The end of a uid: its most telling part where uids are counted up, random where they are random."""
    return "".join(c for c in uid.lower() if c.isalnum())[-12:]


def names_for(uid: str) -> tuple[str, str]:
    """The namespace and the node's end of the device pair, whose name may have 15 characters."""
    return f"fairway-pod-{short(uid)}", f"fw-{digest(uid)}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Networks(Protocol):
    """Whoever gives Pods their networks."""

    def remember(self, pods_folder: Path) -> None: ...
    def restore(self, folder: Path) -> PodNetwork | None: ...
    def set_up(self, uid: str, folder: Path, pod: str, ports: tuple[HostPort, ...] = ()) -> PodNetwork: ...
    def tear_down(self, uid: str, folder: Path) -> None: ...


class PodNetworks:
    """All Pods' networks on this node."""

    def __init__(self, pod_range: IPv4Network) -> None:
        self.pool = AddressPool(pod_range)
        self._lock = threading.Lock()
        self._known: dict[str, PodNetwork] = {}

    def host_ports(self) -> dict[str, tuple[HostPort, ...]]:
        """By the Pod's address."""
        with self._lock:
            return {n.address: n.host_ports for n in self._known.values() if n.host_ports}

    def set_up_bridge(self) -> None:
        with opened() as netlink:
            ensure_bridge(netlink, self.pool)
        # Pods reach one another through the bridge's address (see `_configure`), in and out by the same
        # device, which the kernel would otherwise take for a detour worth an ICMP redirect.
        sysctl.write(f"net/ipv4/conf/{BRIDGE}/send_redirects", "0")
        # So that the node's own 127.0.0.1 leads to Pods that have a port there (see `host_ports`).
        sysctl.write(f"net/ipv4/conf/{BRIDGE}/route_localnet", "1")

    def remember(self, pods_folder: Path) -> None:
        """Enter every address given before we were restarted, so that no new Pod is given one of them."""
        for record in pods_folder.glob(f"*/{RECORD}"):
            network = load(record.parent)
            if network and self.pool.restore(network.uid, IPv4Address(network.address)):
                self._known[network.uid] = network

    def restore(self, folder: Path) -> PodNetwork | None:
        """Know again what a Pod was given before we were restarted; None if there is nothing to know."""
        network = load(folder)
        if network is None:
            return None
        with self._lock:
            kept = self.pool.restore(network.uid, IPv4Address(network.address))
            if kept:
                self._known[network.uid] = network
        return network if kept and namespaces.exists(network.namespace) else None

    def set_up(self, uid: str, folder: Path, pod: str, ports: tuple[HostPort, ...] = ()) -> PodNetwork:
        namespace, device = names_for(uid)
        with self._lock:
            self._check_ports(uid, ports)
            address = self.pool.take(uid)
            network = PodNetwork(uid, str(address), namespace, device, ports)
            self._known[uid] = network
        save(folder, network)
        path = namespaces.create(namespace)
        with opened() as netlink:
            attach(netlink, device, path)
        inside(path, lambda netlink: _configure(netlink, address, self.pool.gateway))
        return network

    def _check_ports(self, uid: str, ports: tuple[HostPort, ...]) -> None:
        for other in self._known.values():
            taken = clashing(ports, other.host_ports) if other.uid != uid else None
            if taken:
                raise PortTaken(taken, other.uid)

    def tear_down(self, uid: str, folder: Path) -> None:
        namespace, device = names_for(uid)
        with opened() as netlink:
            netlink.delete_link(device)
        namespaces.delete(namespace)
        (folder / RECORD).unlink(missing_ok=True)
        with self._lock:
            self.pool.release(uid)
            self._known.pop(uid, None)


def ensure_bridge(netlink: Netlink, pool: AddressPool) -> None:
    netlink.add_bridge(BRIDGE)
    netlink.add_address(BRIDGE, IPv4Interface((pool.gateway, pool.network.prefixlen)))
    netlink.set_up(BRIDGE)


def attach(netlink: Netlink, device: str, namespace: Path) -> None:
    """A leftover of the same name may lead into a namespace that is gone: it is made anew."""
    netlink.delete_link(device)
    netlink.add_veth(device, _INSIDE, namespace)
    # Hairpin: a Pod that reaches itself through its Service leaves the bridge by the port it came in.
    netlink.attach(device, BRIDGE, hairpin=True)
    netlink.set_up(device)


def _configure(netlink: Netlink, address: IPv4Address, gateway: IPv4Address) -> None:
    """The address stands alone (/32) and everything goes by way of the node.

    So packets between two Pods of a node are routed, not bridged: translations of Service addresses then
    work both ways without the kernel's bridge netfilter.
    """
    netlink.set_up("lo")
    netlink.add_address(_INSIDE, IPv4Interface((address, 32)))
    netlink.set_up(_INSIDE)
    netlink.put_route(Route(IPv4Network(gateway), device=_INSIDE))
    netlink.put_route(Route(_DEFAULT, gateway=str(gateway)))
    # Ports below 1024 need no privilege inside a Pod, as container runtimes have it.
    sysctl.write("net/ipv4/ip_unprivileged_port_start", "0")


def load(folder: Path) -> PodNetwork | None:
    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=PodNetwork)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def save(folder: Path, network: PodNetwork) -> None:
    new = folder / (RECORD + ".new")
    new.write_bytes(msgspec.json.encode(network))
    new.rename(folder / RECORD)
