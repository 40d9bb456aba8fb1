"""Whatever is missing or wrong in ipvs mode shows in the behaviour table: rules, sets, servers, addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from fairway.kernel.ipset import Entry
from fairway.kernel.ipvs import Balancing, Load, ServerName, VirtualServer
from fairway.testing.ip_sets import IpSet
from fairway.testing.ipvs_tracer import IpvsTracer
from tests.behaviour.places import NODES, PODS, lan_address
from tests.behaviour.rows import TABLE
from tests.behaviour.services import balancer_ip, cluster_ip, external_ip, node_port
from tests.behaviour.traced import answers
from tests.unit.testing.nodes import SETTINGS, ipvs_tracer

Nodes = Mapping[str, IpvsTracer]


@pytest.fixture(scope="module")
def nodes() -> Nodes:
    return {node: ipvs_tracer(node, SETTINGS) for node in NODES}


SHARP = [case for case in TABLE if case.family == 4 and not case.row.setting and case.is_possible("ipvs")]
# These make no difference to the first packet of a connection on a node that lets packets pass: they are for
# later packets, for hosts whose own rules drop or read marks, for what other rules would do, or repeat for
# what comes back by loopback, or comes from a process that has chosen its address, what was said before.
UNSEEN = frozenset(
    {
        ("filter FORWARD", '-m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD'),
        ("filter KUBE-FORWARD", "-m mark --mark 0x4000/0x4000 -j ACCEPT"),
        ("filter KUBE-FORWARD", "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"),
        ("nat KUBE-POSTROUTING", "-j MARK --xor-mark 0x4000"),
        ("nat KUBE-SERVICES", "-m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT"),
        ("nat KUBE-SERVICES", "-m set --match-set KUBE-LOAD-BALANCER dst,dst -j ACCEPT"),
        (
            "mangle KUBE-IPVS-MARK",
            "-m addrtype --src-type LOCAL -j SET --map-set KUBE-INTERNAL dst,dst --map-mark",
        ),
        (
            "mangle KUBE-IPVS-OUT",
            "-m mark --mark 0x0/0x3fff -m set --match-set KUBE-NO-LOCAL-ENDPOINT dst,dst"
            " -m conntrack --ctstate NEW -j DROP",
        ),
        (
            "mangle KUBE-SOURCE-RANGES-FIREWALL",
            "-m set --match-set KUBE-LOAD-BALANCER-SOURCE-CIDR dst,dst,src -j RETURN",
        ),
        (
            "filter KUBE-SOURCE-RANGES-FIREWALL",
            "-m set --match-set KUBE-LOAD-BALANCER-SOURCE-IP dst,dst,src -j RETURN",
        ),
    }
)
Change = Callable[[IpvsTracer], IpvsTracer]
Rules = Callable[[str, list[str]], list[str]]


def rules_of_a_node() -> list[tuple[str, str]]:
    """The same on every node and for any Services, with the chains that they are in."""
    return [
        (f"{table} {chain}", rule)
        for (version, table), chains in ipvs_tracer("node-1", SETTINGS).tables.items()
        for chain, rules in chains.items()
        for rule in rules
        if version == 4
    ]


def sets_of_a_node() -> list[str]:
    return [name for name in ipvs_tracer("node-1", SETTINGS).sets if not name.startswith("KUBE-6-")]


@pytest.fixture(scope="module")
def noticed(nodes: Nodes) -> Callable[[Change], bool]:
    """Whether any row fails once every node has been changed so."""

    def check(change: Change) -> bool:
        changed = {node: change(tracer) for node, tracer in nodes.items()}
        return any(case.judge(answers(changed, case), "ipvs") for case in SHARP)

    return check


def with_rules(change: Rules) -> Change:
    return lambda tracer: replace(
        tracer,
        tables={
            (version, table): {
                chain: change(f"{table} {chain}", list(rules)) for chain, rules in chains.items()
            }
            for (version, table), chains in tracer.tables.items()
            if version == 4
        },
    )


def with_servers(change: Callable[[ServerName, VirtualServer], VirtualServer | None]) -> Change:
    def changed(tracer: IpvsTracer) -> IpvsTracer:
        servers = {name: change(name, server) for name, server in tracer.servers.items()}
        return replace(tracer, servers={name: server for name, server in servers.items() if server})

    return changed


def test_nothing_fails_while_nothing_is_changed(noticed: Callable[[Change], bool]) -> None:
    assert not noticed(lambda tracer: tracer)


@pytest.mark.parametrize(
    ("chain", "rule"),
    [entry for entry in rules_of_a_node() if entry not in UNSEEN],
    ids=lambda text: text[:90],
)
def test_a_rule_that_is_missing_is_noticed(noticed: Callable[[Change], bool], chain: str, rule: str) -> None:
    assert noticed(with_rules(lambda name, rules: [r for r in rules if (name, r) != (chain, rule)]))


def test_no_rule_is_called_unseen_that_is_not_there() -> None:
    assert set(rules_of_a_node()) >= UNSEEN


@pytest.mark.parametrize("name", sets_of_a_node())
def test_a_set_that_is_empty_is_noticed(noticed: Callable[[Change], bool], name: str) -> None:
    assert noticed(lambda node: replace(node, sets={**node.sets, name: IpSet(node.sets[name].kind, ())}))


ENTRIES = {
    "KUBE-LOOP-BACK": Entry(PODS["1a"].v4, "tcp", 9376, PODS["1a"].v4),
    "KUBE-CLUSTER-IP": Entry(cluster_ip("remote").v4, "udp", 80),
    "KUBE-EXTERNAL-IP": Entry(external_ip("two-ports", "node-2").v4, "sctp", 81),
    "KUBE-EXTERNAL-IP-LOCAL": Entry(external_ip("outside-local", "node-1").v4, "tcp", 80),
    "KUBE-LOAD-BALANCER": Entry(balancer_ip("everywhere", "node-2").v4, "tcp", 80),
    "KUBE-LOAD-BALANCER-LOCAL": Entry(balancer_ip("outside-local", "node-2").v4, "tcp", 80),
    "KUBE-LOAD-BALANCER-FW": Entry(balancer_ip("guarded", "node-1").v4, "tcp", 80),
    "KUBE-LOAD-BALANCER-SOURCE-CIDR": Entry(balancer_ip("guarded", "node-1").v4, "tcp", 80, "10.244.1.0/24"),
    "KUBE-LOAD-BALANCER-SOURCE-IP": Entry(
        balancer_ip("guarded", "node-1").v4, "tcp", 80, balancer_ip("guarded", "node-1").v4
    ),
    "KUBE-NODE-PORT-TCP": Entry(port=node_port("remote")),
    "KUBE-NODE-PORT-UDP": Entry(port=node_port("remote")),
    "KUBE-NODE-PORT-SCTP-HASH": Entry(lan_address("node-1").v4, "sctp", node_port("remote")),
    "KUBE-NODE-PORT-LOCAL-TCP": Entry(port=node_port("outside-local")),
    "KUBE-NODE-PORT-LOCAL-UDP": Entry(port=node_port("outside-local")),
    "KUBE-NODE-PORT-LOCAL-SCTP-HASH": Entry(lan_address("node-2").v4, "sctp", node_port("outside-local")),
    "KUBE-IPVS-IPS": Entry(balancer_ip("outside-local", "node-1").v4),
    "KUBE-NO-ENDPOINT": Entry(cluster_ip("empty").v4, "tcp", 80),
    "KUBE-NO-LOCAL-ENDPOINT": Entry(cluster_ip("inside-local").v4, "udp", 80),
}


def test_an_entry_of_every_set_is_tried() -> None:
    assert {*ENTRIES, "KUBE-INTERNAL"} == set(sets_of_a_node())


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_that_is_missing_is_noticed(
    nodes: Nodes, noticed: Callable[[Change], bool], name: str
) -> None:
    assert any(ENTRIES[name] in tracer.sets[name].entries for tracer in nodes.values())
    assert noticed(_without(name, lambda entry: entry == ENTRIES[name]))


def test_a_mark_that_is_missing_is_noticed(noticed: Callable[[Change], bool]) -> None:
    outer = external_ip("outside-local", "node-1").v4
    assert noticed(_without("KUBE-INTERNAL", lambda entry: entry.address == outer))


def _without(name: str, gone: Callable[[Entry], bool]) -> Change:
    def change(node: IpvsTracer) -> IpvsTracer:
        known = node.sets[name]
        left = IpSet(known.kind, (entry for entry in known.entries if not gone(entry)))
        return replace(node, sets={**node.sets, name: left})

    return change


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("! -o lo ", "-o lo "),
        ("! --dst-type LOCAL", "--dst-type LOCAL"),
        ("! --mark 0x4000/0x4000", "--mark 0x4000/0x4000"),
        ("--mark 0x0/0x3fff", "--mark 0x0/0x0"),
        ("--or-mark 0x4000", "--or-mark 0x8000"),
        ("dst,dst,src", "dst,dst,dst"),
        ("KUBE-IPVS-IPS src", "KUBE-IPVS-IPS dst"),
        ("KUBE-EXTERNAL-IP-LOCAL", "KUBE-EXTERNAL-IP"),
        ("-j MASQUERADE", "-j ACCEPT"),
        ("-j REJECT --reject-with tcp-reset", "-j DROP"),
        ("-j DROP", "-j ACCEPT"),
    ],
)
def test_a_rule_that_says_something_else_is_noticed(
    noticed: Callable[[Change], bool], right: str, wrong: str
) -> None:
    assert noticed(with_rules(lambda name, rules: [rule.replace(right, wrong) for rule in rules]))


def _first(name: ServerName, server: VirtualServer) -> VirtualServer:
    return server._replace(targets=dict(list(server.targets.items())[:1]))


def _drained(name: ServerName, server: VirtualServer) -> VirtualServer:
    return server._replace(targets={target: Load(0) for target in server.targets})


WRONG_SERVERS: dict[str, Callable[[ServerName, VirtualServer], VirtualServer | None]] = {
    "none for marks": lambda name, server: None if name.mark else server,
    "none for a cluster IP": lambda name, server: None if name.address == cluster_ip("remote").v4 else server,
    "none for UDP": lambda name, server: None if name.protocol == "udp" else server,
    "only the first real server": _first,
    "no weight": _drained,
    "no tie": lambda name, server: server._replace(balancing=Balancing("rr")),
    "a tie by marks": lambda name, server: (
        server._replace(balancing=Balancing("rr", 600)) if name.mark else server
    ),
}


@pytest.mark.parametrize("what", WRONG_SERVERS)
def test_virtual_servers_that_are_wrong_are_noticed(noticed: Callable[[Change], bool], what: str) -> None:
    assert noticed(with_servers(WRONG_SERVERS[what]))


@pytest.mark.parametrize(
    "lacking",
    [
        cluster_ip("remote").v4,
        external_ip("everywhere", "node-1").v4,
        balancer_ip("guarded", "node-1").v4,
    ],
)
def test_an_address_that_the_device_lacks_is_noticed(noticed: Callable[[Change], bool], lacking: str) -> None:
    assert noticed(lambda node: replace(node, held=set(node.held) - {lacking}))
