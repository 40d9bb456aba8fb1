"""A DNS server on every node, at a link-local address: a device of our own carries the address, and questions
to it are exempt from connection tracking, whose table they would otherwise fill.

All of it carries our name and goes away with the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Interface

from fairway.kernel.netlink import Netlink
from fairway.kernel.nftables import Nftables, NftablesError

DEVICE = "fairway-dns"
TABLE = "inet fairway-dns"


def rules(addresses: Sequence[str], port: int) -> str:
    """The table that exempts questions and answers, whichever side of the node they come from."""
    own = "{ " + ", ".join(addresses) + " }"
    lines = [f"add table {TABLE}", f"flush table {TABLE}"]
    for chain, hook in (("incoming", "prerouting"), ("outgoing", "output")):
        lines.append(f"add chain {TABLE} {chain} {{ type filter hook {hook} priority raw; }}")
        for protocol in ("udp", "tcp"):
            lines.append(f"add rule {TABLE} {chain} ip daddr {own} {protocol} dport {port} notrack")
    for protocol in ("udp", "tcp"):
        lines.append(f"add rule {TABLE} outgoing ip saddr {own} {protocol} sport {port} notrack")
    return "\n".join(lines) + "\n"


class NodeLocal:
    """The addresses of this node's own server."""

    def __init__(self, netlink: Netlink, nftables: Nftables, addresses: Sequence[str], port: int) -> None:
        self._netlink, self._nftables = netlink, nftables
        self._addresses, self._port = addresses, port

    def put(self) -> None:
        """States what is wanted; what an earlier server left is taken over."""
        self._netlink.add_bridge(DEVICE)
        self._netlink.set_up(DEVICE)
        there = self._netlink.addresses(DEVICE)
        for address in self._addresses:
            # A bridge without ports: the address is this node's alone, and nothing is sent out for it.
            wanted = IPv4Interface(f"{address}/32")
            if wanted not in there:
                self._netlink.add_address(DEVICE, wanted)
        self._nftables.run(rules(self._addresses, self._port))

    def remove(self) -> None:
        self._netlink.delete_link(DEVICE)
        try:
            self._nftables.run(f"add table {TABLE}\ndelete table {TABLE}\n")
        except NftablesError:
            # Nothing of it is in force, then; the device is gone in any case.
            return

    def close(self) -> None:
        self._netlink.close()
        self._nftables.close()
