"""What is programmed for a Service, as text."""

from __future__ import annotations

from typing import Any

from fairway.proxy.changes import Tracker
from fairway.proxy.model import Family, Protocol
from fairway.proxy.nftables.describe import describe
from fairway.proxy.nftables.plan import Planner
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place
from tests.unit.proxy.objects import endpoint, endpoint_slice, service

SETTINGS = Settings(cluster_cidrs=("10.244.0.0/16",), service_ranges=("10.96.0.0/16",))


def described(*endpoints: dict[str, Any], other: dict[str, Any] | None = None, **spec: Any) -> str:
    tracker, planner = Tracker(Place("n1")), Planner(SETTINGS, "n1")
    tracker.service_changed("default/web", None, service(**spec))
    tracker.slice_changed("default/web-1", None, endpoint_slice(endpoints))
    if other:
        tracker.service_changed("default/a", None, service("a", **other))
    planner.update(tracker.take())
    return describe("default/web", planner.port_plans("default/web"), SETTINGS, connections)


def connections(family: Family, protocol: Protocol, address: str, port: int) -> tuple[int, int]:
    return (2, 1500) if address == "10.96.0.80" else (0, 0)


def test_addresses_endpoints_and_connections_are_told() -> None:
    text = described(
        endpoint("10.244.1.1", "n1"),
        endpoint("10.244.2.1", "n2"),
        type="NodePort",
        nodePort=30061,
        sessionAffinity="ClientIP",
    )
    assert text == (
        "Service default/web, table fairway-proxy\n"
        "\n"
        "tcp 80, IPv4\n"
        "  cluster IP 10.96.0.80:80\n"
        "    goto cluster-tcp-2-sticky-10800, masqueraded for clients outside the cluster\n"
        "    connections now: 2, 1500 bytes\n"
        "  node port 30061\n"
        "    goto nodeport-external-tcp-2-sticky-10800, masqueraded\n"
        "    connections now: 0\n"
        "  clients stay with their endpoint for 10800 s\n"
        "  endpoints: 2\n"
        "    10.244.1.1:9376 on n1\n"
        "    10.244.2.1:9376 on n2\n"
    )


def test_both_ways_of_policy_local_are_told() -> None:
    text = described(
        endpoint("10.244.2.1", "n2"), type="NodePort", nodePort=30061, externalTrafficPolicy="Local"
    )
    assert "goto nodeport-local-tcp-0, clients keep their addresses\n" in text
    assert "for clients inside the cluster: goto nodeport-internal-tcp-1\n" in text
    assert "endpoints on this node: 0\n" in text


def test_a_service_without_endpoints_is_said_to_refuse() -> None:
    assert "no endpoint is ready: clients are refused" in described()


def test_an_address_that_another_service_has_is_said_to_be_taken() -> None:
    text = described(
        endpoint("10.244.1.1"), externalIPs=["10.96.0.99"], other={"ip": "10.96.0.99", "port": 80}
    )
    assert "external IP 10.96.0.99:80\n    not programmed: default/a/tcp has this address and port" in text


def test_source_ranges_are_told() -> None:
    text = described(
        endpoint("10.244.1.1"),
        type="LoadBalancer",
        loadBalancerSourceRanges=["192.0.2.0/24"],
        status={"loadBalancer": {"ingress": [{"ip": "203.0.113.1"}]}},
    )
    assert "load balancer IP 203.0.113.1:80" in text
    assert "load balancer addresses are open to: 192.0.2.0/24" in text


def test_nothing_is_told_of_what_is_not_known() -> None:
    assert describe("default/x", [], SETTINGS, connections) == ""
