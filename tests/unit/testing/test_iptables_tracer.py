"""How packets are followed through iptables, and that a wrong rule shows in the behaviour table."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from fairway.testing.iptables_tracer import IptablesTracer
from fairway.testing.tracing import Packet, UnknownRule, Verdict
from tests.behaviour.places import NODES
from tests.behaviour.rows import TABLE
from tests.behaviour.services import cluster_ip
from tests.behaviour.traced import answers
from tests.unit.testing.nodes import SETTINGS, iptables_tracer

# Rules of one kind differ in comments, chains of Services, addresses, numbers and protocols.
_PARTICULARS = re.compile(
    r'"[^"]*"|KUBE-(SVC|SVL|SEP|EXT|FW)-\w{16}|(?<![x\w])[\d.]+(/\d+)?(?![x\w])|\b(udp|tcp|sctp)\b'
)
# These make no difference to the first packet of a connection on a node that lets packets pass: they are for
# later packets, for hosts whose own rules drop, for strays to 127.0.0.1, or refuse where nobody listens.
UNSEEN = (
    "-m conntrack --ctstate INVALID",
    "-m comment --comment # -m conntrack --ctstate RELATED",
    "-m comment --comment # -m mark --mark 0x4000/0x4000 -j ACCEPT",
    "-m comment --comment # -j KUBE-FORWARD",
    "-m comment --comment # -j KUBE-NODEPORTS",
    "-j KUBE-FIREWALL",
    "! -s # -d # -m comment --comment # -m conntrack ! --ctstate",
    "-p # -m comment --comment # -m addrtype --dst-type LOCAL -m # --dport # -j REJECT",
    "-j MARK --set-xmark 0x4000/0x0",
)
UNSEEN_AT = (
    ("filter INPUT", "-m conntrack --ctstate NEW -m comment --comment # -j KUBE-PROXY-FIREWALL"),
    ("filter KUBE-NODEPORTS", "-p # -m comment --comment # -m # --dport # -j ACCEPT"),
)


@pytest.fixture(scope="module")
def nodes() -> dict[str, IptablesTracer]:
    return {node: iptables_tracer(node, SETTINGS) for node in NODES}


def test_a_trace_names_the_rules_that_were_hit(nodes: dict[str, IptablesTracer]) -> None:
    (trace,) = nodes["node-1"].trace(Packet("172.30.96.50", cluster_ip("remote").v4, "tcp", 80))
    assert [shape(hit.chain) for hit in trace.hits] == [
        "nat PREROUTING",
        "nat KUBE-SERVICES",
        "nat KUBE-SVC",
        "nat KUBE-MARK-MASQ",
        "nat KUBE-SVC",
        "nat KUBE-SEP",
        "filter FORWARD",
        "filter FORWARD",
        "filter KUBE-FORWARD",
        "nat POSTROUTING",
        "nat KUBE-POSTROUTING",
        "nat KUBE-POSTROUTING",
    ]
    assert trace.sentence == "sent to 10.244.2.2 port 9376, masqueraded"


def test_a_trace_names_the_rule_that_refused(nodes: dict[str, IptablesTracer]) -> None:
    (trace,) = nodes["node-1"].trace(Packet("10.244.1.4", cluster_ip("empty").v4, "tcp", 80))
    assert trace.verdict is Verdict.REFUSED
    assert "default/empty:web-tcp has no endpoints" in trace.sentence


@pytest.mark.parametrize("rule", ["-m ttl --ttl 3 -j DROP", "-j TPROXY --on-port 3", "-j NOWHERE"])
def test_a_rule_that_the_tracer_does_not_know_is_an_error(rule: str) -> None:
    tracer = IptablesTracer({(4, "nat"): {"PREROUTING": [rule]}}, ())
    with pytest.raises(UnknownRule):
        tracer.trace(Packet("10.0.0.1", "10.0.0.2", "tcp", 80))


# -- a wrong rule shows --------------------------------------------------------------------------------

SHARP = [case for case in TABLE if case.family == 4 and case.protocol == "tcp" and not case.row.setting]
Change = Callable[[str, list[str]], list[str]]


@cache
def shape(rule: str) -> str:
    return _PARTICULARS.sub(lambda found: f"KUBE-{found[1]}" if found[1] else "#", rule)


def shapes() -> list[tuple[str, str]]:
    """By the kind of chain that they are in."""
    tables = iptables_tracer("node-3", SETTINGS).tables
    found = dict.fromkeys(
        (f"{table} {shape(chain)}", shape(rule))
        for (version, table), chains in tables.items()
        for chain, rules in chains.items()
        for rule in rules
        if version == 4
    )
    return [
        (chain, rule)
        for chain, rule in sorted(found)
        if " -j " in f" {rule}" and not rule.startswith(UNSEEN) and (chain, rule) not in UNSEEN_AT
    ]


@pytest.fixture(scope="module")
def noticed(nodes: dict[str, IptablesTracer]) -> Callable[[Change], bool]:
    """Whether any row fails once the rules of every chain on every node have been changed so."""

    def check(change: Change) -> bool:
        changed = {node: _changed(tracer, change) for node, tracer in nodes.items()}
        return any(case.judge(answers(changed, case), "iptables") for case in SHARP)

    return check


def _changed(tracer: IptablesTracer, change: Change) -> IptablesTracer:
    tables = {
        (version, table): {
            name: change(f"{table} {shape(name)}", list(rules)) for name, rules in chains.items()
        }
        for (version, table), chains in tracer.tables.items()
        if version == 4
    }
    return replace(tracer, tables=tables)


@pytest.mark.parametrize(("chain", "wanted"), shapes(), ids=lambda text: text[:90])
def test_a_rule_that_is_missing_is_noticed(
    noticed: Callable[[Change], bool], chain: str, wanted: str
) -> None:
    assert noticed(lambda name, rules: [r for r in rules if (name, shape(r)) != (chain, wanted)])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("! -s ", "-s "),
        ("--src-type LOCAL", "--dst-type LOCAL"),
        ("--set-xmark 0x4000/0x4000", "--set-xmark 0x8000/0x8000"),
        ("-j MASQUERADE --random-fully", "-j ACCEPT"),
        ("--probability 0.33333333349", "--probability 1"),
        ("-j REJECT --reject-with icmp-port-unreachable", "-j DROP"),
        ("-j DROP", "-j ACCEPT"),
    ],
)
def test_a_rule_that_says_something_else_is_noticed(
    noticed: Callable[[Change], bool], right: str, wrong: str
) -> None:
    assert noticed(lambda name, rules: [rule.replace(right, wrong) for rule in rules])
