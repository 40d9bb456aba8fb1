"""The rules of a Service, as text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairway.kernel.conntrack import Flow
from tests.unit.proxy.iptables.kernels import SETTINGS, Node
from tests.unit.proxy.objects import endpoint, endpoint_slice, service

CHAIN = "LOLE4ISW44XBNF3G"


def programmed(*endpoints: dict[str, Any], **spec: Any) -> Node:
    node, protocol = Node(), spec.get("protocol", "TCP")
    node.put(service(**spec))
    node.slice(endpoint_slice(endpoints, protocol=protocol))
    node.synchronise()
    return node


def test_the_rules_are_told_in_the_order_in_which_they_are_passed() -> None:
    node = programmed(endpoint("10.244.1.1", "n1"), endpoint("10.244.2.1", "n2"))
    sep = [chain for chain in node.iptables.tables[4, "nat"] if chain.startswith("KUBE-SEP-")]
    first, second = sorted(sep, key=lambda chain: "10.244.2.1" in str(node.chain(chain)))
    name, to = '-m comment --comment "default/web', "-d 10.96.0.80/32 -p tcp"
    assert node.applier.describe("default/web") == (
        "Service default/web, as iptables-save shows it\n"
        "\n"
        "tcp 80, IPv4\n"
        "  cluster IP 10.96.0.80:80, connections now: 0\n"
        "  endpoints: 2, chosen by KUBE-SVC, each as likely as another\n"
        "*nat\n"
        f'-A KUBE-SERVICES {to} {name} cluster IP" -m tcp --dport 80 -j KUBE-SVC-{CHAIN}\n'
        f"-A KUBE-SVC-{CHAIN} ! -s 10.244.0.0/16 {to} {name} cluster IP"
        '" -m tcp --dport 80 -j KUBE-MARK-MASQ\n'
        f'-A KUBE-SVC-{CHAIN} {name} -> 10.244.1.1:9376" -m statistic --mode random'
        f" --probability 0.50000000000 -j {first}\n"
        f'-A KUBE-SVC-{CHAIN} {name} -> 10.244.2.1:9376" -j {second}\n'
        f'-A {first} -s 10.244.1.1/32 {name}" -j KUBE-MARK-MASQ\n'
        f'-A {first} -p tcp {name}" -m tcp -j DNAT --to-destination 10.244.1.1:9376\n'
        f'-A {second} -s 10.244.2.1/32 {name}" -j KUBE-MARK-MASQ\n'
        f'-A {second} -p tcp {name}" -m tcp -j DNAT --to-destination 10.244.2.1:9376\n'
    )


def test_every_rule_that_is_told_is_in_the_kernel_and_none_of_the_service_is_left_out() -> None:
    node = programmed(
        endpoint("10.244.1.1", "n1"),
        endpoint("10.244.2.1", "n2"),
        type="LoadBalancer",
        nodePort=30061,
        externalTrafficPolicy="Local",
        healthCheckNodePort=31999,
        loadBalancerSourceRanges=["192.0.2.0/24"],
        externalIPs=["198.51.100.7"],
        sessionAffinity="ClientIP",
        status={"loadBalancer": {"ingress": [{"ip": "203.0.113.1"}]}},
    )
    text = node.applier.describe("default/web")
    told = [line for line in text.splitlines() if line.startswith("-A ")]
    there = [f"-A {chain} {rule}" for (_, chain), rules in node.rules().items() for rule in rules]
    assert sorted(told) == sorted(line for line in there if "default/web" in line or CHAIN in line)
    for line in ("node port 30061", "external IP 198.51.100.7:80", "load balancer IP 203.0.113.1:80"):
        assert f"  {line}, connections now: 0\n" in text
    assert "  endpoints on this node: 1, chosen by KUBE-SVL\n" in text
    assert "  clients stay with their endpoint for 10800 s\n" in text
    assert "  load balancer addresses are open to: 192.0.2.0/24\n" in text


def test_connections_are_counted() -> None:
    node = programmed(endpoint("10.244.1.1"), protocol="UDP")
    node.conntrack.flows[4].append(Flow("10.244.1.9", 5000, "10.96.0.80", 80, "10.244.1.1", 9376, size=700))
    assert "connections now: 1, 700 bytes\n" in node.applier.describe("default/web")


def test_a_service_without_endpoints_is_said_to_refuse_or_in_classic_style_to_drop() -> None:
    node = programmed()
    text = node.applier.describe("default/web")
    assert "no endpoint is ready: clients are refused\n*filter\n-A KUBE-SERVICES" in text
    node.restart(replace(SETTINGS, classic=True))
    text = node.applier.describe("default/web")
    assert "no endpoint is ready: clients are dropped\n*nat\n-A KUBE-SERVICES" in text


def test_what_policy_local_cannot_serve_is_said_to_be_dropped() -> None:
    text = programmed(endpoint("10.244.2.1", "n2"), internalTrafficPolicy="Local").applier.describe(
        "default/web"
    )
    assert "endpoints on this node: 0, so what policy Local keeps here is dropped\n" in text
    assert " -j DROP\n" in text


def test_nothing_is_told_of_what_is_not_known() -> None:
    assert programmed().applier.describe("default/nothing") == ""
