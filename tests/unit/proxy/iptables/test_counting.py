"""Connections by Service from the counters of rules: which rules count, and for whom."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.kernel.counters import FakeCounters, RuleCount
from fairway.proxy.iptables.applier import Applier
from fairway.proxy.iptables.saved import target
from tests.unit.proxy.iptables.kernels import Node
from tests.unit.proxy.objects import endpoint, endpoint_slice, service

BALANCED = {"type": "LoadBalancer", "nodePort": 30061}
STATUS = {"loadBalancer": {"ingress": [{"ip": "203.0.113.9", "ipMode": "VIP"}]}}


class CountingNode(Node):
    """Every rule that leads on has counted as many packets as it is told, and has a handle of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.counters = FakeCounters()
        counting = {field: getattr(self.kernel, field) for field in self.kernel.__slots__}
        self.kernel = type(self.kernel)(**counting | {"counters": self.counters})
        self.applier = Applier(self.kernel, self.applier.settings, lambda: self.now)
        self.synchronise()
        self._handles: dict[tuple[str, str, int], int] = {}

    def web(self, *pods: Any, **spec: Any) -> None:
        self.put(service("web", status=STATUS if "type" in spec else {}, **spec))
        self.slice(endpoint_slice(pods))
        self.apply()

    def count(self, chain: str, words: str, packets: int, age: int = 0) -> None:
        """The rule of the chain with these words has seen packets. `age` tells it from one written later."""
        rule = next(rule for rule in self.chain(chain) if words in rule)
        handle = self._handles.setdefault((chain, rule, age), len(self._handles) + 1)
        rules = self.counters.ruled.setdefault(("ip", "nat", chain), [])
        rules[:] = [known for known in rules if known.handle != handle]
        rules.append(RuleCount(handle, target(rule), packets))

    def counted(self) -> dict[str, float]:
        return {dict(f.labels)["service"]: f.value for f in self.applier.count_services()()}


@pytest.fixture
def node() -> CountingNode:
    return CountingNode()


def chain(node: CountingNode, prefix: str) -> str:
    return next(name for name in node.iptables.tables[4, "nat"] if name.startswith(prefix))


def test_connections_by_any_address_of_a_service_are_counted(node: CountingNode) -> None:
    node.web("10.244.0.1", "10.244.0.2", externalIPs=["198.51.100.7"], **BALANCED)
    node.count("KUBE-SERVICES", "cluster IP", 1)
    node.count("KUBE-SERVICES", "external IP", 2)
    node.count("KUBE-SERVICES", "loadbalancer IP", 4)
    node.count("KUBE-NODEPORTS", "30061", 8)
    assert node.counted() == {"web": 15}
    assert node.counted() == {"web": 15}


def test_rules_inside_a_services_chains_count_nothing_more(node: CountingNode) -> None:
    node.web("10.244.0.1", "10.244.0.2", **BALANCED)
    node.count("KUBE-NODEPORTS", "30061", 8)
    node.count(chain(node, "KUBE-EXT-"), "-j KUBE-SVC-", 8)
    assert node.counted() == {"web": 8}


def test_where_source_ranges_are_seen_to_only_those_who_may_come_count(node: CountingNode) -> None:
    node.web("10.244.0.1", loadBalancerSourceRanges=["192.0.2.0/24"], **BALANCED)
    node.count("KUBE-SERVICES", "loadbalancer IP", 9)
    assert node.counted() == {}
    node.count(chain(node, "KUBE-FW-"), "-s 192.0.2.0/24", 4)
    assert node.counted() == {"web": 4}


def test_what_is_dropped_as_no_endpoint_is_here_is_no_connection(node: CountingNode) -> None:
    node.web(endpoint("10.244.0.1", "n2"), externalTrafficPolicy="Local", **BALANCED)
    node.count("KUBE-NODEPORTS", "30061", 8)
    node.count("KUBE-SERVICES", "cluster IP", 1)
    assert node.counted() == {"web": 1}
    node.web(endpoint("10.244.0.1", "n1"), externalTrafficPolicy="Local", **BALANCED)
    node.count("KUBE-NODEPORTS", "30061", 9)
    assert node.counted()["web"] > 1


def test_a_rule_that_is_written_anew_begins_at_nought_and_the_total_goes_on(node: CountingNode) -> None:
    node.web("10.244.0.1")
    node.count("KUBE-SERVICES", "cluster IP", 5)
    assert node.counted() == {"web": 5}
    node.counters.ruled.clear()
    assert node.counted() == {"web": 5}
    node.count("KUBE-SERVICES", "cluster IP", 6, age=1)
    assert node.counted() == {"web": 11}


def test_a_service_that_is_gone_is_no_longer_told(node: CountingNode) -> None:
    node.web("10.244.0.1")
    node.count("KUBE-SERVICES", "cluster IP", 5)
    assert node.counted() == {"web": 5}
    node.delete("web")
    node.apply()
    assert node.counted() == {}
