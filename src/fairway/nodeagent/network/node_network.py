"""The node's own network: its bridge, forwarding, the routes to other nodes, masquerading.

Brought about level by level: each `refresh` makes it so, whatever it finds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from ipaddress import IPv4Network
from pathlib import Path

import structlog

from fairway.api.objects import Node
from fairway.kernel import sysctl
from fairway.kernel.conntrack import KernelConntrack
from fairway.kernel.netlink import Netlink, NetlinkError, Route, opened
from fairway.kernel.nftables import LibNftables
from fairway.nodeagent.network import host_ports, masquerade
from fairway.nodeagent.network.pod_network import BRIDGE, PodNetworks
from fairway.nodeagent.network.routes import NodeRoute, cluster_networks, plan_routes, wanted_routes

log = structlog.get_logger()
_FORWARD = "net/ipv4/ip_forward"
# Where the value of ip_forward from before us is kept, to be restored by `take_down`.
_FORWARD_BEFORE = "ip_forward.before"


class NodeNetwork:
    def __init__(
        self, node_name: str, pods: PodNetworks, outside_exceptions: tuple[IPv4Network, ...], data: Path
    ) -> None:
        self._node_name = node_name
        self._pods = pods
        self._exceptions = outside_exceptions
        self._data = data
        self._applied = ""
        self._inside: list[IPv4Network] | None = None
        self._applying = asyncio.Lock()
        self._published = pods.host_ports()

    async def set_up(self) -> None:
        """Only what needs no knowledge of other nodes: what an agent before us has made stays in force."""
        await asyncio.to_thread(self._set_up)

    def _set_up(self) -> None:
        remembered = self._data / _FORWARD_BEFORE
        before = sysctl.write(_FORWARD, "1")
        if not remembered.exists():
            remembered.write_text(before)
        self._pods.set_up_bridge()

    async def refresh(self, nodes: Iterable[Node], force: bool = False) -> None:
        """Routes and masquerading for the nodes there are; `force` writes even what should be there."""
        nodes = list(nodes)
        await asyncio.to_thread(self._refresh_routes, nodes)
        self._inside = [*cluster_networks(nodes), *self._exceptions]
        await self.publish_ports(force)

    async def publish_ports(self, force: bool = False) -> None:
        """Rules for the Pods there are now. Nothing is written before the nodes are known."""
        if self._inside is None:
            return
        async with self._applying:
            ports = self._pods.host_ports()
            declarations = host_ports.declarations(ports, BRIDGE)
            rules = masquerade.ruleset(self._pods.pool.network, self._inside, declarations)
            if force or rules != self._applied:
                await asyncio.to_thread(run_nft, rules)
                self._applied = rules
            changed = host_ports.changed_udp_ports(self._published, ports)
            self._published = ports
            if changed:
                await asyncio.to_thread(_forget_flows, changed)

    def _refresh_routes(self, nodes: list[Node]) -> None:
        with opened() as netlink:
            apply_routes(netlink, nodes, self._node_name)

    async def take_down(self) -> None:
        await asyncio.to_thread(self._take_down)

    def _take_down(self) -> None:
        run_nft(masquerade.removal())
        with opened() as netlink:
            apply_routes(netlink, [], self._node_name)
            netlink.delete_link(BRIDGE)
        remembered = self._data / _FORWARD_BEFORE
        if remembered.exists():
            sysctl.write(_FORWARD, remembered.read_text())
            remembered.unlink()


def apply_routes(netlink: Netlink, nodes: Iterable[Node], own_name: str) -> None:
    """Only ways to other nodes' Pods are ours here; where the node sends everything else is not."""
    ours = [route for route in netlink.routes() if route.gateway and route.destination.prefixlen > 0]
    present = [NodeRoute(route.destination, route.gateway) for route in ours]
    plan = plan_routes(wanted_routes(nodes, own_name), present)
    for route in plan.delete:
        netlink.delete_route(Route(route.destination, route.gateway))
    for route in plan.put:
        try:
            netlink.put_route(Route(route.destination, route.gateway))
        except NetlinkError as error:
            # A node on a network that we have no way to must not keep us from the others.
            log.warning("no route to node", destination=str(route.destination), error=str(error))


def _forget_flows(ports: Iterable[int]) -> None:
    """A client that goes on sending from the same port would otherwise be led where the port led before."""
    conntrack = KernelConntrack()
    try:
        for port in ports:
            for flow in conntrack.udp_flows(4, port=port):
                conntrack.delete(4, flow)
    finally:
        conntrack.close()


def run_nft(rules: str) -> None:
    nftables = LibNftables()
    try:
        nftables.run(rules)
    finally:
        nftables.close()
