"""The chains that are there whatever Services there are, and where the kernel's own chains jump to them.

Pure. Rules are worded as `iptables-save` prints them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fairway.proxy.iptables.names import (
    CANARY,
    EXTERNAL,
    FIREWALL,
    FORWARD,
    MARK_DROP,
    MARK_MASQ,
    NODEPORTS,
    POSTROUTING,
    PROXY_FIREWALL,
    SERVICES,
)
from fairway.proxy.iptables.style import Style, comment
from fairway.proxy.model import Family

Rules = tuple[str, ...]
Chain = tuple[str, str]
"""A table and the name of a chain in it."""

TABLES = ("filter", "nat", "mangle")
SHARED: tuple[Chain, ...] = (
    ("filter", SERVICES),
    ("filter", EXTERNAL),
    ("filter", NODEPORTS),
    ("filter", PROXY_FIREWALL),
    ("nat", SERVICES),
    ("nat", NODEPORTS),
)
"""Filled with rules of Service ports."""
OWN: frozenset[Chain] = frozenset(
    {
        *SHARED,
        *((table, CANARY) for table in TABLES),
        ("filter", FORWARD),
        ("filter", FIREWALL),
        ("nat", POSTROUTING),
        ("nat", MARK_MASQ),
        ("nat", MARK_DROP),
    }
)
"""All that there may be in either style."""


class Hook(NamedTuple):
    """A rule in one of the kernel's chains that jumps to one of ours."""

    table: str
    base: str
    rule: str


def fixed_chains(style: Style) -> dict[Chain, Rules]:
    chains: dict[Chain, Rules] = {
        ("filter", FORWARD): tuple(_forward(style)),
        ("filter", FIREWALL): tuple(_firewall(style)),
        ("nat", POSTROUTING): tuple(_postrouting(style)),
        ("nat", MARK_MASQ): (f"-j MARK --set-xmark {style.mark}/{style.mark}",),
        # Empty. They go when someone flushes a table, and that is how kube-proxy notices.
        **{(table, CANARY): () for table in TABLES},
    }
    if style.classic:
        chains["nat", MARK_DROP] = (f"-j MARK --set-xmark {style.drop_mark}/{style.drop_mark}",)
    return chains


def _postrouting(style: Style) -> Iterator[str]:
    text, marked = comment("kubernetes service traffic requiring SNAT"), f"--mark {style.mark}/{style.mark}"
    if style.classic:
        yield f"{text} -m mark {marked} -j MASQUERADE"
        return
    yield f"-m mark ! {marked} -j RETURN"
    # Cleared, lest the packet be masqueraded again when it passes the stack a second time.
    yield f"-j MARK --set-xmark {style.mark}/0x0"
    yield f"{text} -j MASQUERADE --random-fully"


def _forward(style: Style) -> Iterator[str]:
    if not style.host.liberal:
        # Translated back or not, an endpoint's stray segment would reset a connection that is fine.
        yield "-m conntrack --ctstate INVALID -j DROP"
    marked = f"-m mark --mark {style.mark}/{style.mark}"
    yield f"{comment('kubernetes forwarding rules')} {marked} -j ACCEPT"
    known = "-m conntrack --ctstate RELATED,ESTABLISHED"
    yield f"{comment('kubernetes forwarding conntrack rule')} {known} -j ACCEPT"


def _firewall(style: Style) -> Iterator[str]:
    if style.classic:
        text, mark = "kubernetes firewall for dropping marked packets", style.drop_mark
        yield f"{comment(text)} -m mark --mark {mark}/{mark} -j DROP"
    if style.nodeports_on_localhost:
        # route_localnet would let neighbours on the network reach what listens on 127.0.0.1.
        stray = "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT"
        text = comment("block incoming localnet connections")
        yield f"! -s 127.0.0.0/8 -d 127.0.0.0/8 {text} {stray} -j DROP"


def last_rules(style: Style) -> dict[Chain, Rules]:
    """What comes after the rules of all Services in the chains they share."""
    return {("nat", SERVICES): tuple(_to_node_ports(style))}


def _to_node_ports(style: Style) -> Iterator[str]:
    text = comment("kubernetes service nodeports; NOTE: this must be the last rule in this chain")
    if not style.nodeports_everywhere:
        for ip in style.nodeport_addresses:
            yield f"-d {style.host_range(ip)} {text} -j {NODEPORTS}"
        return
    but = ""
    if style.family is Family.IPV6:
        but = "! -d ::1/128 "
    elif not style.nodeports_on_localhost:
        but = "! -d 127.0.0.0/8 "
    yield f"{but}{text} -m addrtype --dst-type LOCAL -j {NODEPORTS}"


def hooks(style: Style) -> tuple[Hook, ...]:
    """In the order in which they stand in each chain, before the rules of anyone else."""
    new = "-m conntrack --ctstate NEW "
    firewall = f"{new}{comment('kubernetes load balancer firewall')} -j {PROXY_FIREWALL}"
    portals = f"{comment('kubernetes service portals')} -j {SERVICES}"
    outside = f"{new}{comment('kubernetes externally-visible service portals')} -j {EXTERNAL}"
    marked = f"-j {FIREWALL}"
    # What is marked to be dropped may be on its way to another node.
    passing = (Hook("filter", "FORWARD", marked),) if style.classic else ()
    return (
        Hook("filter", "INPUT", marked),
        Hook("filter", "INPUT", firewall),
        Hook("filter", "INPUT", f"{comment('kubernetes health check service ports')} -j {NODEPORTS}"),
        Hook("filter", "INPUT", outside),
        *passing,
        Hook("filter", "FORWARD", firewall),
        Hook("filter", "FORWARD", f"{comment('kubernetes forwarding rules')} -j {FORWARD}"),
        Hook("filter", "FORWARD", new + portals),
        Hook("filter", "FORWARD", outside),
        Hook("filter", "OUTPUT", marked),
        Hook("filter", "OUTPUT", firewall),
        Hook("filter", "OUTPUT", new + portals),
        Hook("nat", "PREROUTING", portals),
        Hook("nat", "OUTPUT", portals),
        Hook("nat", "POSTROUTING", f"{comment('kubernetes postrouting rules')} -j {POSTROUTING}"),
    )
