"""How packets are followed through userspace mode, and that a wrong rule shows in the behaviour table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import msgspec
import pytest

from fairway.proxy.userspace.messages import Backend, Listener
from fairway.proxy.userspace.ruleset import TABLE as TABLE_NAME
from fairway.testing.tracing import Packet, Verdict
from fairway.testing.userspace_tracer import UserspaceTracer
from tests.behaviour.places import NODES, PODS
from tests.behaviour.rows import TABLE
from tests.behaviour.services import cluster_ip, node_port
from tests.behaviour.traced import answers
from tests.unit.testing.nft_shapes import RuleChange, changed, shape, shapes
from tests.unit.testing.nodes import SETTINGS, userspace_tracer

Nodes = Mapping[str, UserspaceTracer]
OUTSIDE = "172.30.96.50"


@pytest.fixture(scope="module")
def nodes() -> Nodes:
    return {node: userspace_tracer(node, SETTINGS) for node in NODES}


def test_a_trace_names_the_rules_and_the_listener_that_were_hit(nodes: Nodes) -> None:
    (trace,) = nodes["node-1"].trace(Packet(OUTSIDE, cluster_ip("remote").v4, "tcp", 80))
    assert [str(hit) for hit in trace.hits] == [
        "ip fairway-userspace nat-prerouting: jump services",
        "ip fairway-userspace services: ip daddr . meta l4proto . th dport vmap @services",
        "ip fairway-userspace cluster-tcp-1: ip saddr != 10.244.0.0/16 jump mark-masquerade",
        "ip fairway-userspace cluster-tcp-1: dnat ip to ip daddr . tcp dport . numgen random mod 1"
        " map @tcp-endpoints",
        "relay: default/remote:web-tcp/tcp/ip/cluster in turn",
        "ip fairway-userspace nat-output: jump services",
    ]
    assert trace.sentence == "sent to 10.244.2.2 port 9376, masqueraded"


def test_an_endpoint_of_the_node_sees_a_client_outside_by_policy_local(nodes: Nodes) -> None:
    own = NODES["node-2"].v4
    (trace,) = nodes["node-2"].trace(Packet(OUTSIDE, own, "tcp", node_port("outside-local")))
    assert (trace.packet.source, trace.masqueraded) == (OUTSIDE, False)
    assert trace.sentence == "sent to 10.244.2.2 port 9376"


def test_what_a_node_sends_comes_back_to_its_own_relay(nodes: Nodes) -> None:
    for destination, port in ((cluster_ip("remote").v4, 80), ("127.0.0.1", node_port("remote"))):
        own = Packet(NODES["node-1"].v4, destination, "tcp", port, own=True)
        (trace,) = nodes["node-1"].trace(own)
        assert trace.sentence == "sent to 10.244.2.2 port 9376, masqueraded"


def test_a_stranger_is_refused_at_the_port_of_a_relay(nodes: Nodes) -> None:
    (_, bound) = next(iter(nodes["node-1"].served))
    for packet in (Packet(OUTSIDE, *_at(bound)), Packet(NODES["node-1"].v4, *_at(bound), own=True)):
        (trace,) = nodes["node-1"].trace(packet)
        assert trace.verdict is Verdict.REFUSED
        assert any("guard" in hit.chain for hit in trace.hits)


def _at(bound: tuple[str, int]) -> tuple[str, str, int]:
    return bound[0], "tcp", bound[1]


def test_a_relay_that_does_not_listen_is_no_way_to_an_endpoint(nodes: Nodes) -> None:
    deaf = replace(nodes["node-1"], served=())
    (trace,) = deaf.trace(Packet(OUTSIDE, cluster_ip("remote").v4, "tcp", 80))
    assert trace.verdict is Verdict.REFUSED


def test_a_client_stays_with_its_endpoint_until_that_has_gone(nodes: Nodes) -> None:
    tracer, packet = nodes["node-1"], Packet(PODS["1c"].v4, cluster_ip("sticky").v4, "tcp", 80)
    first = tracer.trace(packet)
    assert len(first) == 3
    for trace in first:
        (again,) = tracer.trace(packet, trace.memory)
        assert again.packet == trace.packet
        left = _without(trace.packet.destination)(tracer)
        assert len(left.trace(packet, trace.memory)) == 2


def _without(address: str) -> Change:
    return with_listeners(lambda listener: _backends(listener, lambda b: None if b.address == address else b))


# -- whatever is wrong shows ---------------------------------------------------------------------------

SHARP = [
    case for case in TABLE if case.family == 4 and case.protocol in ("tcp", "udp") and not case.row.setting
]
# Nothing is masqueraded here and no rule chooses, so what leads there has nothing to do. The others matter
# to later packets, where no service range is known, or to those who come to the relay by no Service; and
# without the last one a client is refused all the same, by ICMP.
UNSEEN = (
    "ct state invalid",
    "ct state new meta priority",
    "ct state new ct original ip daddr",
    "jump mark-masquerade",
    "ip saddr != 10.244.0.0/16 jump mark-masquerade",
    "fib saddr type local jump mark-masquerade",
    "ip daddr @cluster-ips",
    "meta l4proto # reject with tcp reset",
)
RULES = userspace_tracer("node-1", SETTINGS).tables["ip", TABLE_NAME]
Change = Callable[[UserspaceTracer], UserspaceTracer]


@pytest.fixture(scope="module")
def noticed(nodes: Nodes) -> Callable[[Change], bool]:
    """Whether any row fails once every node has been changed so."""

    def check(change: Change) -> bool:
        wrong = {node: change(tracer) for node, tracer in nodes.items()}
        return any(case.judge(answers(wrong, case), "userspace") for case in SHARP)

    return check


def with_rules(change: RuleChange) -> Change:
    return lambda tracer: replace(tracer, tables=changed(tracer.tables, change))


def with_listeners(change: Callable[[Listener], Listener]) -> Change:
    return lambda tracer: replace(
        tracer, served=[(change(listener), bound) for listener, bound in tracer.served]
    )


def _backends(listener: Listener, change: Callable[[Backend], Backend | None]) -> Listener:
    new = (change(backend) for backend in listener.backends)
    return msgspec.structs.replace(listener, backends=tuple(b for b in new if b is not None))


@pytest.mark.parametrize("wanted", shapes(RULES, UNSEEN), ids=lambda text: text[:90])
def test_a_rule_that_is_missing_is_noticed(noticed: Callable[[Change], bool], wanted: str) -> None:
    assert noticed(with_rules(lambda rules: [rule for rule in rules if shape(rule) != wanted]))


WRONG_LISTENERS: dict[str, Callable[[Listener], Listener]] = {
    "one backend less": lambda listener: msgspec.structs.replace(listener, backends=listener.backends[1:]),
    "no tie": lambda listener: msgspec.structs.replace(listener, affinity_seconds=0),
    "nobody inside": lambda listener: msgspec.structs.replace(listener, inside=()),
    "nobody shown": lambda listener: _backends(listener, lambda b: b._replace(transparent=False)),
    "everybody shown": lambda listener: _backends(listener, lambda b: b._replace(transparent=True)),
    "another port": lambda listener: _backends(listener, lambda b: b._replace(port=1)),
}


@pytest.mark.parametrize("what", WRONG_LISTENERS)
def test_listeners_that_are_wrong_are_noticed(noticed: Callable[[Change], bool], what: str) -> None:
    assert noticed(with_listeners(WRONG_LISTENERS[what]))


def test_nothing_fails_while_nothing_is_changed(noticed: Callable[[Change], bool]) -> None:
    assert not noticed(lambda tracer: tracer)
