"""The agent's own nftables table: Pods talk to the world outside with the node's address, and are reached by
the node's ports. Pure text."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, collapse_addresses

TABLE = "fairway-node"


def ruleset(pod_range: IPv4Network, inside: Iterable[IPv4Network], declarations: str = "") -> str:
    """The whole table, replacing what was there in one transaction.

    Traffic to `inside` keeps the Pod's address, and so does what has been translated already: a Service's
    virtual address is gone before this hook.
    """
    networks = ", ".join(str(network) for network in collapse_addresses([pod_range, *inside]))
    return f"""\
add table ip {TABLE}
delete table ip {TABLE}
table ip {TABLE} {{
    set inside {{
        type ipv4_addr
        flags interval
        elements = {{ {networks}, 224.0.0.0/4 }}
    }}
    chain postrouting {{
        type nat hook postrouting priority srcnat; policy accept;
        ip saddr {pod_range} ip daddr != @inside masquerade
    }}
{declarations}}}
"""


def removal() -> str:
    return f"add table ip {TABLE}\ndelete table ip {TABLE}\n"
