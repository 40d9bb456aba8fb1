"""The small world of the behaviour table: who there is, where, and with which addresses. Pure data.

    outside   172.30.96.50 and .51          Services and half of the outer addresses are routed to node-1,
    node-1    172.30.96.11, zone east       the others to the node that their network is named after
              Pods 1a 1b 1c (10.244.1.2 …)
    node-2    172.30.96.12, zone west       Pods 2a 2c
    node-3    172.30.96.13, zone west       Pods 3a 3c

The Pods whose names end in c are clients only. `tests/netns/topology.py` gives the same addresses.
"""

from __future__ import annotations

from dataclasses import dataclass

POD_PORT, OTHER_PORT = 9376, 9377
SERVICE_PORT, OTHER_SERVICE_PORT = 80, 81
LAYOUT = {"node-1": ("1a", "1b", "1c"), "node-2": ("2a", "2c"), "node-3": ("3a", "3c")}
ZONES = {"node-1": "east", "node-2": "west", "node-3": "west"}
CLUSTER_CIDRS = ("10.244.0.0/16", "fd00:244::/32")
SERVICE_RANGES = ("10.96.0.0/16", "fd00:96::/112")
# What the outside client routes to each node: the networks of external and of load balancer addresses.
OUTER = {
    "node-1": ("203.0.113.", "2001:db8:1::"),
    "node-2": ("198.51.100.", "2001:db8:2::"),
    "node-3": ("192.0.2.", "2001:db8:3::"),
}
OUTER_RANGES = {
    "node-1": ("203.0.113.0/24", "2001:db8:1::/64"),
    "node-2": ("198.51.100.0/24", "2001:db8:2::/64"),
    "node-3": ("192.0.2.0/24", "2001:db8:3::/64"),
}


@dataclass(frozen=True, slots=True)
class Address:
    """One party's address in each family."""

    v4: str
    v6: str

    def of(self, family: int) -> str:
        return self.v4 if family == 4 else self.v6


def _number(node: str) -> int:
    return int(node.removeprefix("node-"))


def lan_address(node: str) -> Address:
    return Address(f"172.30.96.{10 + _number(node)}", f"fd00:30::{10 + _number(node)}")


def gateway(node: str) -> Address:
    """The node's address among its own Pods."""
    return Address(f"10.244.{_number(node)}.1", f"fd00:244:{_number(node)}::1")


NODES = {node: lan_address(node) for node in LAYOUT}
NODE_OF = {pod: node for node, pods in LAYOUT.items() for pod in pods}
PODS = {
    pod: Address(f"10.244.{_number(node)}.{host}", f"fd00:244:{_number(node)}::{host}")
    for node, pods in LAYOUT.items()
    for host, pod in enumerate(pods, 2)
}
# Two clients outside the cluster. The first one also serves, as a database outside the cluster would.
OUTSIDE = {
    "outside": Address("172.30.96.50", "fd00:30::50"),
    "stranger": Address("172.30.96.51", "fd00:30::51"),
}
CLIENTS = OUTSIDE | NODES | PODS


def own_node(client: str) -> str:
    """The node whose kernel sees a client's packets first; empty for clients outside."""
    return client if client in NODES else NODE_OF.get(client, "")


def masqueraded(node: str, endpoint: str) -> Address:
    """What an endpoint sees of a connection that `node` has masqueraded: the address it leaves by."""
    return gateway(node) if NODE_OF.get(endpoint) == node else lan_address(node)


def local_addresses(node: str) -> frozenset[str]:
    own = (lan_address(node), gateway(node))
    return frozenset({"127.0.0.1", "::1", *(a.v4 for a in own), *(a.v6 for a in own)})
