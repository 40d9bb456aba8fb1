"""How packets are followed through ipvs mode: its rules, its sets and the virtual servers of IPVS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from fairway.kernel.ipset import Entry, Kind
from fairway.kernel.ipvs import HASH_PORTS, Balancing, Load, ServerName, Target, VirtualServer
from fairway.testing.ip_sets import IpSet
from fairway.testing.ipvs_tracer import IpvsTracer
from fairway.testing.tracing import Packet, UnknownRule, Verdict
from tests.behaviour.places import NODES, PODS, lan_address
from tests.behaviour.services import cluster_ip, external_ip
from tests.unit.testing.nodes import SETTINGS, ipvs_tracer

Nodes = Mapping[str, IpvsTracer]
OUTSIDE = "172.30.96.50"
FRONTEND = ServerName(4, "tcp", "10.96.0.1", 80)
TO_FRONTEND = Packet("10.244.1.4", "10.96.0.1", "tcp", 80)


@pytest.fixture(scope="module")
def nodes() -> Nodes:
    return {node: ipvs_tracer(node, SETTINGS) for node in NODES}


def test_a_trace_names_the_rules_and_the_virtual_server_that_were_hit(nodes: Nodes) -> None:
    (trace,) = nodes["node-1"].trace(Packet(OUTSIDE, cluster_ip("remote").v4, "tcp", 80))
    assert [hit.chain for hit in trace.hits] == [
        "mangle PREROUTING",
        "nat PREROUTING",
        "nat KUBE-SERVICES",
        "nat KUBE-CLUSTER-IP",
        "nat KUBE-MARK-MASQ",
        "nat KUBE-SERVICES",
        "nat KUBE-SERVICES",
        "filter INPUT",
        "filter INPUT",
        "filter KUBE-IPVS-FILTER",
        "ipvs INPUT",
        "mangle OUTPUT",
        "filter OUTPUT",
        "nat POSTROUTING",
        "nat KUBE-POSTROUTING",
        "nat KUBE-POSTROUTING",
    ]
    assert str(trace.hits[10]) == f"ipvs INPUT: tcp {cluster_ip('remote').v4} port 80 rr"
    assert trace.sentence == "sent to 10.244.2.2 port 9376, masqueraded"


def test_a_trace_names_the_rule_that_refused(nodes: Nodes) -> None:
    (trace,) = nodes["node-1"].trace(Packet("10.244.1.4", cluster_ip("empty").v4, "tcp", 80))
    assert trace.verdict is Verdict.REFUSED
    assert trace.sentence == "refused by filter KUBE-IPVS-REFUSE: -p tcp -j REJECT --reject-with tcp-reset"


def test_what_a_node_sends_is_served_before_it_leaves_and_refused_when_it_comes_back(nodes: Nodes) -> None:
    own = Packet(lan_address("node-1").v4, cluster_ip("remote").v4, "tcp", 80, own=True)
    (served,) = nodes["node-1"].trace(own)
    assert "ipvs OUTPUT" in [hit.chain for hit in served.hits]
    assert (served.packet.source, served.masqueraded) == (cluster_ip("remote").v4, True)
    (refused,) = nodes["node-1"].trace(replace(own, destination=cluster_ip("empty").v4))
    assert [hit.chain for hit in refused.hits][-3:] == [
        "filter INPUT",
        "filter KUBE-IPVS-FILTER",
        "filter KUBE-IPVS-REFUSE",
    ]


def test_a_client_inside_the_cluster_is_led_by_a_mark_around_policy_local(nodes: Nodes) -> None:
    outer = external_ip("outside-local", "node-1").v4
    inside = nodes["node-3"].trace(Packet(PODS["3c"].v4, outer, "tcp", 80))
    assert {trace.packet.destination for trace in inside} == {PODS[pod].v4 for pod in ("1a", "1b", "2a")}
    assert all("ipvs INPUT: mark " in " ".join(map(str, trace.hits)) for trace in inside)
    (outside,) = nodes["node-3"].trace(Packet(OUTSIDE, outer, "tcp", 80))
    assert outside.verdict is Verdict.DROPPED


def test_a_virtual_ip_answers_ping_and_an_address_of_the_node_is_left_to_others(nodes: Nodes) -> None:
    (ping,) = nodes["node-1"].trace(Packet(OUTSIDE, cluster_ip("remote").v4, "icmp"))
    assert ping.verdict is Verdict.ANSWERED
    (plain,) = nodes["node-1"].trace(Packet(OUTSIDE, lan_address("node-1").v4, "tcp", 22))
    assert (plain.verdict, plain.translated) == (Verdict.PASSED, False)


# -- virtual servers, by themselves --------------------------------------------------------------------


def lone(
    targets: dict[str, int],
    how: Balancing | None = None,
    name: ServerName = FRONTEND,
    local: Sequence[str] = (),
) -> IpvsTracer:
    """A node without any rules; real servers by address with their weights."""
    loads = {Target(address, 9376): Load(weight) for address, weight in targets.items()}
    server = VirtualServer(how or Balancing("rr"), loads)
    return IpvsTracer({}, {}, {name: server}, ["10.96.0.1"], local)


def chances(tracer: IpvsTracer) -> dict[str, float]:
    return {trace.packet.destination: float(trace.probability) for trace in tracer.trace(TO_FRONTEND)}


def test_a_real_server_of_weight_0_gets_no_new_connection() -> None:
    assert chances(lone({"10.0.0.1": 1, "10.0.0.2": 0, "10.0.0.3": 1})) == {"10.0.0.1": 0.5, "10.0.0.3": 0.5}


def test_weights_count_where_the_scheduler_heeds_them() -> None:
    uneven = {"10.0.0.1": 3, "10.0.0.2": 1}
    assert chances(lone(uneven, Balancing("wrr"))) == {"10.0.0.1": 0.75, "10.0.0.2": 0.25}
    assert chances(lone(uneven)) == {"10.0.0.1": 0.5, "10.0.0.2": 0.5}


@pytest.mark.parametrize("targets", [{}, {"10.0.0.1": 0}])
def test_a_server_that_has_nobody_for_new_connections_refuses(targets: dict[str, int]) -> None:
    (trace,) = lone(targets).trace(TO_FRONTEND)
    assert trace.sentence == "refused by ipvs INPUT: tcp 10.96.0.1 port 80 rr"


def test_a_real_server_on_the_node_itself_is_reached() -> None:
    tracer = lone({"192.0.2.1": 1}, local=["192.0.2.1"])
    for own in (False, True):
        (trace,) = tracer.trace(replace(TO_FRONTEND, own=own))
        assert trace.sentence == "sent to 192.0.2.1 port 9376"


@pytest.mark.parametrize("how", [Balancing("rr", 600), Balancing("mh"), Balancing("sh")])
def test_a_client_stays_with_its_real_server_until_that_has_gone(how: Balancing) -> None:
    targets = {"10.0.0.1": 1, "10.0.0.2": 1, "10.0.0.3": 1}
    first = lone(targets, how).trace(TO_FRONTEND)
    assert len(first) == 3
    for trace in first:
        (again,) = lone(targets, how).trace(TO_FRONTEND, trace.memory)
        assert again.packet == trace.packet
        left = targets | {trace.packet.destination: 0}
        assert len(lone(left, how).trace(TO_FRONTEND, trace.memory)) == 2


def test_a_hash_of_ports_too_tells_the_connections_of_a_client_apart() -> None:
    tracer = lone({"10.0.0.1": 1, "10.0.0.2": 1}, Balancing("mh", flags=HASH_PORTS))
    assert len(tracer.trace(TO_FRONTEND, tracer.trace(TO_FRONTEND)[0].memory)) == 2


@pytest.mark.parametrize(("persistence", "port"), [(0, 9376), (600, 80)])
def test_a_server_for_a_mark_translates_ports_unless_it_ties_clients(persistence: int, port: int) -> None:
    marked = ServerName(4, "", "", 0, 7)
    rule = {
        (4, "mangle"): {"PREROUTING": ["-j MARK --or-mark 0x7"], "INPUT": [], "OUTPUT": [], "POSTROUTING": []}
    }
    tracer = replace(lone({"10.0.0.1": 1}, Balancing("rr", persistence), marked), tables=rule)
    (trace,) = tracer.trace(TO_FRONTEND)
    assert trace.packet.port == port


# -- what isn't known is an error ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        "-m set --match-set NOWHERE dst -j DROP",
        "-m set --match-set KNOWN dst,src -j DROP",
        "-j SET --add-set KNOWN dst,dst",
        "-j SET --map-set KNOWN dst,dst --map-prio",
        "-m ipvs --ipvs -j DROP",
        "-o eth0 -j DROP",
    ],
)
def test_a_rule_that_the_tracer_does_not_know_is_an_error(rule: str) -> None:
    known = IpSet(Kind("hash:ip,port", 4), [Entry("10.96.0.1", "tcp", 80)])
    tracer = IpvsTracer({(4, "nat"): {"PREROUTING": [rule]}}, {"KNOWN": known}, {}, (), ())
    with pytest.raises(UnknownRule):
        tracer.trace(TO_FRONTEND)


def test_a_scheduler_or_a_set_that_the_tracer_does_not_know_is_an_error() -> None:
    with pytest.raises(UnknownRule):
        lone({"10.0.0.1": 1}, Balancing("fo")).trace(TO_FRONTEND)
    with pytest.raises(UnknownRule):
        IpSet(Kind("hash:mac"), ())


@pytest.mark.parametrize(
    ("kind", "entry", "sides", "found"),
    [
        ("hash:ip", Entry("10.96.0.1"), "dst", True),
        ("hash:ip", Entry("10.96.0.1"), "src", False),
        ("hash:ip,port", Entry("10.96.0.1", "tcp", 80), "dst,dst", True),
        ("hash:ip,port", Entry("10.96.0.1", "tcp", 80), "dst", False),
        ("hash:ip,port", Entry("10.96.0.1", "udp", 80), "dst,dst", False),
        ("hash:ip,port,ip", Entry("10.96.0.1", "tcp", 80, "10.244.1.4"), "dst,dst,src", True),
        ("hash:ip,port,ip", Entry("10.96.0.1", "tcp", 80, "10.244.1.5"), "dst,dst,src", False),
        ("hash:ip,port,net", Entry("10.96.0.1", "tcp", 80, "10.244.0.0/16"), "dst,dst,src", True),
        ("hash:ip,port,net", Entry("10.96.0.1", "tcp", 80, "10.96.0.0/16"), "dst,dst,src", False),
        ("bitmap:port", Entry(port=80), "dst", True),
        ("bitmap:port", Entry(port=81), "dst", False),
    ],
)
def test_a_set_finds_what_the_kernel_finds(kind: str, entry: Entry, sides: str, found: bool) -> None:
    version = 0 if kind == "bitmap:port" else 4
    assert (IpSet(Kind(kind, version), [entry]).find(TO_FRONTEND, sides) == entry) is found


def test_a_set_of_ports_alone_knows_nothing_of_sctp() -> None:
    ports = IpSet(Kind("bitmap:port"), [Entry(port=80)])
    assert ports.find(replace(TO_FRONTEND, protocol="sctp"), "dst") is None
