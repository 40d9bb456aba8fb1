"""Names and addresses of a cluster on this machine. Pure.

The first cluster has index 0, the next one on the same machine 1, and so on, each with ranges of its own,
so that all are reachable from the host side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path

MOST_CLUSTERS = 11
MOST_NODES = 200
FIRST_NODE_HOST = 10


@dataclass(frozen=True, slots=True)
class NodePlan:
    name: str
    namespace: str
    """The network namespace that is this node."""
    device: str
    """The host's end of the veth pair to the node."""
    address: IPv4Address
    pod_network: IPv4Network


def balancer_folder(node: NodePlan) -> Path:
    """Not among the cluster's data: HAProxy is not root, and may not be able to reach that."""
    return Path("/run/fairway-lb") / node.namespace


@dataclass(frozen=True, slots=True)
class Layout:
    index: int
    node_count: int

    @property
    def name(self) -> str:
        return f"fairway{self.index}"

    @property
    def bridge(self) -> str:
        return self.name

    @property
    def node_network(self) -> IPv4Network:
        return IPv4Network(f"172.30.{96 + self.index}.0/24")

    @property
    def host_address(self) -> IPv4Address:
        return self.node_network.network_address + 1

    @property
    def host_interface(self) -> IPv4Interface:
        return IPv4Interface(f"{self.host_address}/{self.node_network.prefixlen}")

    @property
    def service_network(self) -> IPv4Network:
        return IPv4Network(f"10.{96 + self.index}.0.0/16")

    @property
    def pod_network(self) -> IPv4Network:
        return IPv4Network(f"10.{244 + self.index}.0.0/16")

    @property
    def dns_address(self) -> IPv4Address:
        return self.service_network.network_address + 10

    @property
    def load_balancer_range(self) -> str:
        """Addresses of the nodes' network that Services may have; the host reaches them by ARP."""
        return f"{self.node_network.network_address + 200}-{self.node_network.network_address + 250}"

    @property
    def nodes(self) -> tuple[NodePlan, ...]:
        return tuple(self._node(number) for number in range(1, self.node_count + 1))

    def _node(self, number: int) -> NodePlan:
        return NodePlan(
            name=f"node-{number}",
            namespace=f"{self.name}-node-{number}",
            device=f"fw{self.index}-node{number}",
            address=self.node_network.network_address + FIRST_NODE_HOST + number,
            pod_network=IPv4Network((int(self.pod_network.network_address) + (number << 8), 24)),
        )
