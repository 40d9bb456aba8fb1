"""How packets are followed through nftables, and that a wrong rule shows in the behaviour table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fairway.kernel.fake_nftables import FakeTable
from fairway.proxy.nftables.ruleset import TABLE as TABLE_NAME
from fairway.testing.nftables_tracer import NftablesTracer
from fairway.testing.tracing import Packet, UnknownRule, Verdict
from tests.behaviour.places import NODES
from tests.behaviour.rows import TABLE
from tests.behaviour.services import cluster_ip
from tests.behaviour.traced import answers
from tests.unit.testing.nft_shapes import RuleChange, changed, shape, shapes
from tests.unit.testing.nodes import SETTINGS, nftables_tracer

PLAIN = [case for case in TABLE if not case.row.setting]


@pytest.fixture(scope="module")
def nodes() -> dict[str, NftablesTracer]:
    return {node: nftables_tracer(node, SETTINGS) for node in NODES}


def test_a_trace_names_the_rules_that_were_hit(nodes: dict[str, NftablesTracer]) -> None:
    (trace,) = nodes["node-1"].trace(Packet("172.30.96.50", cluster_ip("remote").v4, "tcp", 80))
    assert [str(hit) for hit in trace.hits] == [
        "ip fairway-proxy nat-prerouting: jump services",
        "ip fairway-proxy services: ip daddr . meta l4proto . th dport vmap @services",
        "ip fairway-proxy cluster-tcp-1: ip saddr != 10.244.0.0/16 jump mark-masquerade",
        "ip fairway-proxy mark-masquerade: meta mark set meta mark or 0x4000",
        "ip fairway-proxy cluster-tcp-1: dnat ip to ip daddr . tcp dport . numgen random mod 1"
        " map @tcp-endpoints",
        "ip fairway-proxy nat-postrouting: meta mark & 0x4000 == 0x4000 meta mark set meta mark xor 0x4000"
        " masquerade fully-random",
    ]
    assert trace.sentence == "sent to 10.244.2.2 port 9376, masqueraded"


def test_a_trace_names_the_rule_that_refused(nodes: dict[str, NftablesTracer]) -> None:
    (trace,) = nodes["node-1"].trace(Packet("10.244.1.4", cluster_ip("empty").v4, "tcp", 80))
    assert trace.verdict is Verdict.REFUSED
    assert trace.sentence == "refused by ip fairway-proxy refuse: meta l4proto tcp reject with tcp reset"


@pytest.mark.parametrize(
    "rule", ["ip ttl 3 drop", "tcp flags syn drop", "drop drop", "ip saddr @nowhere drop", "meta mark set"]
)
def test_a_rule_that_the_tracer_does_not_know_is_an_error(rule: str) -> None:
    table = FakeTable({"first": [rule]}, {"first": "type filter hook prerouting priority 0;"})
    with pytest.raises(UnknownRule):
        NftablesTracer({("ip", "t"): table}, ()).trace(Packet("10.0.0.1", "10.0.0.2", "tcp", 80))


# -- a wrong rule shows --------------------------------------------------------------------------------

# These matter to later packets of a connection, to clients whose endpoint has gone, or where no service range
# is known; and without the last one a client is refused all the same, by ICMP.
UNSEEN = (
    "ct state",
    "delete @affinity",
    "ip daddr @cluster-ips",
    "meta l4proto # reject with tcp reset",
)
SHARP = [case for case in PLAIN if case.family == 4 and case.protocol in ("tcp", "udp")]
RULES = nftables_tracer("node-1", SETTINGS).tables["ip", TABLE_NAME]


@pytest.fixture(scope="module")
def noticed(nodes: dict[str, NftablesTracer]) -> Callable[[RuleChange], bool]:
    """Whether any row fails once the rules of every chain on every node have been changed so."""

    def check(change: RuleChange) -> bool:
        wrong = {
            node: replace(tracer, tables=changed(tracer.tables, change)) for node, tracer in nodes.items()
        }
        try:
            return any(case.judge(answers(wrong, case), "nftables") for case in SHARP)
        except UnknownRule:
            return True

    return check


@pytest.mark.parametrize("wanted", shapes(RULES, UNSEEN), ids=lambda text: text[:90])
def test_a_rule_that_is_missing_is_noticed(noticed: Callable[[RuleChange], bool], wanted: str) -> None:
    assert noticed(lambda rules: [rule for rule in rules if shape(rule) != wanted])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("saddr != ", "saddr "),
        ("daddr != ", "daddr "),
        ("numgen random mod 3", "numgen random mod 2"),
        ("offset 32768", "offset 0"),
        ("jump mark-masquerade", "goto mark-masquerade"),
        ("fib saddr type local", "fib daddr type local"),
        ("vmap @internal", "vmap @services"),
        ("or 0x4000", "or 0x8000"),
        ("ct status dnat ip saddr . ip daddr @hairpin", "ct status dnat ip saddr . ip saddr @hairpin"),
        ("th dport", "tcp dport"),
        ("drop", "accept"),
    ],
)
def test_a_rule_that_says_something_else_is_noticed(
    noticed: Callable[[RuleChange], bool], right: str, wrong: str
) -> None:
    assert noticed(lambda rules: [rule.replace(right, wrong) for rule in rules])


def test_a_client_whose_endpoint_has_gone_is_tied_to_another_one(nodes: dict[str, NftablesTracer]) -> None:
    tracer, packet = nodes["node-1"], Packet("10.244.1.4", cluster_ip("sticky").v4, "tcp", 80)
    (key, *_) = tracer.trace(packet)[0].memory["ip", "affinity"]
    first = tracer.trace(packet, {("ip", "affinity"): {key: "f000:1"}})
    assert {trace.packet.destination for trace in first} == {"10.244.1.2", "10.244.1.3", "10.244.2.2"}
    for trace in first:
        (again,) = tracer.trace(packet, trace.memory)
        assert again.packet == trace.packet
