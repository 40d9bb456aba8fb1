"""Whether the packet tracer knows the way that the kernel takes: single packets, and the counters of rules.

The tracer is given what the kernel itself says that it holds. Which rules a packet hits there is counted by
the kernel; the two must agree rule by rule. The jumps from the kernel's own chains and what lets connections
be forwarded count answers as well, so they are left out.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Iterator

from fairway.kernel.ipset import KernelIpset
from fairway.testing.ip_sets import IpSet
from fairway.testing.ipvs_tracer import IpvsTracer
from fairway.testing.tracing import Packet, Trace, Verdict
from tests.netns.topology import TARGET, Namespace, Network, Pod, udp
from tests.netns.web_service import VIP, spec

from .ipvs_nodes import IpvsFleet, IpvsNode

_RULE = re.compile(r"\[(\d+):\d+\] -A (\S+) (.*)")
Tables = dict[tuple[int, str], dict[str, list[str]]]
Counted = set[tuple[str, str]]


def check_the_tracer_names_the_rules_that_the_kernel_counts(net: Network, fleet: IpvsFleet) -> None:
    """Of every kind of client, to addresses of every kind, in all that can become of them."""
    first, pod = net.nodes[0], net.nodes[0].pods[0]
    senders = {
        "outside": (net.client, Packet(net.client_ip, "", "udp")),
        "pod": (pod.namespace, Packet(pod.ip, "", "udp")),
        "node": (first.namespace, Packet(first.ip, "", "udp", own=True)),
    }
    outer, unused = ("203.0.113.10", "203.0.113.19"), "10.96.77.77"
    net.client.ip(*(f"route replace {address}/32 via {first.ip}" for address in (*outer, unused)))
    targets = ((VIP, 80), (VIP, 81), (first.ip, 30061), *((each, 80) for each in outer), (unused, 80))
    wrong, seen = [], set()
    far = [net.nodes[1].pods[0]]
    for chosen, policy in ((far, "Cluster"), (far, "Local"), ([pod], "Local"), ([], "Cluster")):
        datagrams(fleet, chosen, policy)
        tracing = tracer(fleet.proxies[0])
        for target, (sender, (space, begun)) in itertools.product(targets, senders.items()):
            packet = begun.to(*target)
            (trace,) = tracing.trace(packet)
            seen.add((trace.verdict, trace.translated, trace.masqueraded))
            patience = 0.5 if trace.verdict is Verdict.DROPPED else 20
            differs = hits(trace) ^ counted(fleet.proxies[0], space, packet, patience)
            if differs:
                wrong.append((len(chosen), policy, sender, target, sorted(differs)))
    assert not wrong, json.dumps(wrong, indent=1)
    ways = {(Verdict.REFUSED, False), (Verdict.DROPPED, False), (Verdict.PASSED, True)}
    assert {kind[:2] for kind in seen} == ways, seen


def datagrams(fleet: IpvsFleet, chosen: list[Pod], policy: str) -> None:
    """A Service by addresses of all kinds; its load balancer's is closed to the nodes themselves."""
    whole = spec(
        protocol="UDP",
        type="LoadBalancer",
        nodePort=30061,
        externalIPs=["203.0.113.10"],
        externalTrafficPolicy=policy,
        loadBalancerSourceRanges=["172.30.96.50/32", "10.0.0.0/8"],
    )
    fleet.put("web", whole, {"loadBalancer": {"ingress": [{"ip": "203.0.113.19"}]}})
    fleet.endpoints("web", chosen, TARGET, "UDP")


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
