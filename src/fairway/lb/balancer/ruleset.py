"""What a node's packet filter does for load balancers, as one nftables table for each family. Pure.

Packets for a balanced address and port are led to the local HAProxy; addresses of internal Services are
closed to everyone outside; what is sent to an address on a port that no Service has is refused, not lost.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from fairway.lb.balancer.model import Listener

TABLE = "fairway-lb"
SETS = ("listeners", "addresses", "internal", "inside", "private")


@dataclass(frozen=True, slots=True)
class Rules:
    """Addresses are canonical texts; `node` are the node's own, to lead to."""

    listeners: tuple[Listener, ...] = ()
    addresses: frozenset[str] = frozenset()
    internal: frozenset[str] = frozenset()
    inside: frozenset[str] = frozenset()
    node: tuple[str, ...] = ()


def transaction(rules: Rules) -> str:
    return "".join(_table(family, version, rules) for family, version in (("ip", 4), ("ip6", 6)))


def removal() -> str:
    return "".join(f"table {family} {TABLE}\ndelete table {family} {TABLE}\n" for family in ("ip", "ip6"))


def _table(family: str, version: int, rules: Rules) -> str:
    kind = "ipv4_addr" if version == 4 else "ipv6_addr"
    target = f"{kind} . inet_service"
    private = sorted({listener.local for listener in rules.listeners})
    unreachable = "icmp" if version == 4 else "icmpv6"
    leads = f"dnat {family} to {family} daddr . tcp dport map @listeners"
    return f"""table {family} {TABLE}
delete table {family} {TABLE}
table {family} {TABLE} {{
    map listeners {{ type {target} : {target}; {_elements(_leads(rules, version))} }}
    set addresses {{ type {kind}; {_elements(_of(version, rules.addresses))} }}
    set internal {{ type {kind}; {_elements(_of(version, rules.internal))} }}
    set inside {{ type {kind}; flags interval; auto-merge; {_elements(_of(version, rules.inside))} }}
    set private {{ type inet_service; {_elements(map(str, private))} }}
    chain guard {{
        type filter hook prerouting priority raw;
        {family} daddr @internal {family} saddr != @inside drop
    }}
    chain nat-prerouting {{
        type nat hook prerouting priority dstnat - 5;
        {leads}
    }}
    chain nat-output {{
        type nat hook output priority -105;
        {leads}
    }}
    chain forward {{
        type filter hook forward priority filter;
        {family} daddr @addresses meta l4proto tcp reject with tcp reset
        {family} daddr @addresses reject with {unreachable} port-unreachable
    }}
    chain input {{
        type filter hook input priority filter;
        iifname != "lo" tcp dport @private ct status & dnat != dnat reject with tcp reset
    }}
}}
"""


def _leads(rules: Rules, version: int) -> list[str]:
    target = next(iter(_of(version, rules.node)), "")
    if not target:
        return []
    return [
        f"{address} . {listener.port} : {target} . {listener.local}"
        for listener in rules.listeners
        for address in _of(version, listener.addresses)
    ]


def _of(version: int, texts: Iterable[str]) -> list[str]:
    """Parsed once more, so that nothing but an address or a range can be in the text."""
    networks = sorted((ipaddress.ip_network(text) for text in texts), key=str)
    found = (network for network in networks if network.version == version)
    return [str(n.network_address) if n.num_addresses == 1 else str(n) for n in found]


def _elements(texts: Iterable[str]) -> str:
    joined = ", ".join(dict.fromkeys(texts))
    return f"elements = {{ {joined} }}" if joined else ""
