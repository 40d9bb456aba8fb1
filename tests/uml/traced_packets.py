"""Whether the packet tracer knows the way that the kernel takes: single packets, and the counters of rules.

The tracer is given what the kernel itself says that it holds. Which rules a packet hits there is counted by
the kernel; the two must agree rule by rule. The jumps from the kernel's own chains and what lets connections
be forwarded count answers as well, so they are left out.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from fairway.kernel.ipset import KernelIpset
from fairway.testing.ip_sets import IpSet
from fairway.testing.ipvs_tracer import IpvsTracer
from fairway.testing.tracing import Packet, Trace
from tests.netns.topology import Namespace, udp

from .ipvs_nodes import IpvsNode

_RULE = re.compile(r"\[(\d+):\d+\] -A (\S+) (.*)")
Tables = dict[tuple[int, str], dict[str, list[str]]]
Counted = set[tuple[str, str]]


def tracer(proxy: IpvsNode) -> IpvsTracer:
    """Of the node as its kernel describes it."""
    space, kernel = proxy.node.namespace, proxy.kernel
    tables: Tables = {}
    for table, chain, rule, _ in _rules(space):
        tables.setdefault((4, table), {}).setdefault(chain, [])
        if rule:
            tables[4, table][chain].append(rule)
    ipset = space.run(KernelIpset)
    sets = {name: IpSet(kind, ipset.entries(name)) for name, (kind, _) in ipset.sizes().items()}
    ipset.close()
    held = kernel.device.addresses()
    return IpvsTracer(tables, sets, kernel.ipvs.servers(), held, kernel.local_addresses() - held)


def hits(trace: Trace) -> Counted:
    return {(hit.chain, hit.rule) for hit in trace.hits if _is_ours(hit.chain)}


def counted(proxy: IpvsNode, sender: Namespace, packet: Packet, patience: float) -> Counted:
    """The rules of ours that one datagram hits on a node, and its answer, if it gets one."""
    space = proxy.node.namespace
    for table in ("mangle", "nat", "filter"):
        space.command("iptables", "-t", table, "-Z")
    with contextlib.suppress(OSError):
        udp(sender, packet.destination, packet.port, patience)
    found = ((f"{table} {chain}", rule, count) for table, chain, rule, count in _rules(space))
    return {(chain, rule) for chain, rule, count in found if count and _is_ours(chain)}


def _is_ours(chain: str) -> bool:
    return " KUBE-" in chain and chain != "filter KUBE-FORWARD"


def _rules(space: Namespace) -> Iterator[tuple[str, str, str, int]]:
    """Table, chain, rule and how many packets it has seen; a chain comes first without a rule."""
    table = ""
    for line in space.command("iptables-save", "-c").splitlines():
        if line.startswith("*"):
            table = line[1:]
        elif line.startswith(":"):
            yield table, line[1:].split()[0], "", 0
        elif found := _RULE.fullmatch(line):
            yield table, found[2], found[3], int(found[1])
