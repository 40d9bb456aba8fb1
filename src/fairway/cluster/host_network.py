"""The host's part of a cluster's network: a bridge, a namespace and a veth pair per node, routes.

Nothing of the host's own configuration is touched: every device, route and table carries our name.
Everything here may be run again and converges.
"""

from __future__ import annotations

import subprocess
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

from fairway.cluster.layout import MOST_CLUSTERS, Layout, NodePlan
from fairway.cluster.record import Record
from fairway.kernel import namespaces
from fairway.kernel.netlink import KernelNetlink, Netlink, Route

FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
ANYWHERE = IPv4Network("0.0.0.0/0")


def free_index(netlink: Netlink) -> int:
    """The first index whose bridge does not exist and whose ranges nothing on this host uses."""
    routes = [route.destination for route in netlink.routes(everyones=True) if route.destination != ANYWHERE]
    for index in range(MOST_CLUSTERS):
        layout = Layout(index, 1)
        wanted = (layout.node_network, layout.service_network, layout.pod_network)
        taken = any(ours.overlaps(theirs) for ours in wanted for theirs in routes)
        if not taken and netlink.link(layout.bridge) is None:
            return index
    raise RuntimeError(
        f"no address range is left for another cluster: {MOST_CLUSTERS} run already, or the host's own"
        " routes use 10.96.0.0/16, 10.244.0.0/16 and the ranges after them"
    )


def choose_index(record: Record | None) -> int:
    """The index a cluster had before (its network may still be there), or the first free one."""
    if record is not None:
        return record.index
    netlink = KernelNetlink()
    try:
        return free_index(netlink)
    finally:
        netlink.close()


def build(layout: Layout) -> bool:
    """Make all of it; returns whether forwarding had to be turned on."""
    netlink = KernelNetlink()
    try:
        netlink.add_bridge(layout.bridge)
        netlink.add_address(layout.bridge, layout.host_interface)
        netlink.set_up(layout.bridge)
        for node in layout.nodes:
            _build_node(netlink, layout, node)
        _route_services(netlink, layout)
    finally:
        netlink.close()
    _masquerade(layout)
    return _turn_on_forwarding()


def _build_node(netlink: Netlink, layout: Layout, node: NodePlan) -> None:
    path = namespaces.create(node.namespace)
    if netlink.link(node.device) is None:
        netlink.add_veth(node.device, "eth0", path)
    netlink.attach(node.device, layout.bridge)
    netlink.set_up(node.device)
    inside = KernelNetlink(path)
    try:
        if inside.link(layout.bridge) is not None:
            raise RuntimeError(f"{node.namespace} is the host's own namespace; nothing was changed in it")
        inside.set_up("lo")
        inside.add_address("eth0", IPv4Interface(f"{node.address}/{layout.node_network.prefixlen}"))
        inside.set_up("eth0")
        inside.put_route(Route(ANYWHERE, str(layout.host_address)))
    finally:
        inside.close()
    netlink.put_route(Route(node.pod_network, str(node.address)))


def _route_services(netlink: Netlink, layout: Layout) -> None:
    """From the host a virtual IP is reached through the first node, whose proxy knows it."""
    netlink.put_route(Route(layout.service_network, str(layout.nodes[0].address)))


def _masquerade(layout: Layout) -> None:
    """What nodes send beyond this host leaves under its address; what it tells itself stays as it is."""
    table = f"""
table ip {layout.name} {{
    chain postrouting {{
        type nat hook postrouting priority srcnat; policy accept;
    }}
}}
flush table ip {layout.name}
table ip {layout.name} {{
    chain postrouting {{
        type nat hook postrouting priority srcnat; policy accept;
        ip saddr {layout.node_network} oifname != {{ "{layout.bridge}", "lo" }} masquerade
    }}
}}
"""
    subprocess.run(["nft", "-f", "-"], input=table, text=True, check=True)


def _turn_on_forwarding() -> bool:
    if FORWARDING.read_text().strip() == "1":
        return False
    FORWARDING.write_text("1")
    return True


def remove(layout: Layout, forwarding_was_off: bool) -> None:
    """Undo `build`, whatever of it is there. Routes go with their bridge."""
    netlink = KernelNetlink()
    try:
        for link in netlink.links():
            if link.name == layout.bridge or link.name.startswith(f"fw{layout.index}-node"):
                netlink.delete_link(link.name)
    finally:
        netlink.close()
    namespaces.delete_prefix(f"{layout.name}-")
    subprocess.run(["nft", "delete", "table", "ip", layout.name], capture_output=True, check=False)
    if forwarding_was_off:
        FORWARDING.write_text("0")
