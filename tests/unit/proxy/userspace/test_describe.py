"""What is programmed for a Service, as text."""

from __future__ import annotations

from typing import Any

from tests.unit.proxy.objects import endpoint
from tests.unit.proxy.userspace.test_applier import Node


def described(*endpoints: dict[str, Any], opens: bool = True, **spec: Any) -> str:
    node = Node()
    node.relays.fails = not opens
    node.change(endpoints, **spec)
    node.applier.synchronise(node.tracker.take())
    return node.applier.describe("default/web")


def test_rules_relays_endpoints_and_affinity_are_told() -> None:
    text = described(
        endpoint("10.244.1.1", "n1"),
        endpoint("10.244.2.1", "n2"),
        type="NodePort",
        nodePort=30061,
        sessionAffinity="ClientIP",
    )
    assert text == (
        "Service default/web, table fairway-userspace and the relay\n"
        "\n"
        "tcp 80, IPv4\n"
        "  cluster IP 10.96.0.80:80\n"
        "    goto cluster-tcp-1\n"
        "    connections now: 0\n"
        "  node port 30061\n"
        "    goto nodeport-external-tcp-1\n"
        "    connections now: 0\n"
        "  clients stay with their endpoint for 10800 s\n"
        "  endpoints: 2, relayed in turn from 169.254.96.1:61000\n"
        "    10.244.1.1:9376 on n1\n"
        "    10.244.2.1:9376 on n2\n"
    )


def test_policy_local_has_a_relay_of_its_own() -> None:
    text = described(
        endpoint("10.244.1.1", "n1"),
        endpoint("10.244.2.1", "n2"),
        type="NodePort",
        nodePort=30061,
        externalTrafficPolicy="Local",
    )
    assert "  endpoints: 2, relayed in turn from 169.254.96.1:61000\n" in text
    assert "  endpoints on this node: 1, relayed in turn from 169.254.96.1:61001\n" in text
    assert "  those on this node see clients from outside the cluster as they are\n" in text


def test_what_is_refused_is_said_to_be() -> None:
    assert "no endpoint is ready: clients are refused\n" in described()
    sctp = described(endpoint("10.244.1.1"), protocol="SCTP")
    assert "goto refuse\n" in sctp
    assert "sctp is not relayed: clients are refused\n" in sctp


def test_a_port_that_could_not_be_opened_is_told() -> None:
    text = described(endpoint("10.244.1.1"), opens=False)
    assert "endpoints: 1, but the relay could open no port\n" in text


def test_nothing_is_told_of_what_is_not_known() -> None:
    assert Node().applier.describe("default/x") == ""
