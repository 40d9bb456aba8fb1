"""Which UDP flows are stale."""

from __future__ import annotations

from dataclasses import dataclass

from fairway.proxy.model import Family
from fairway.proxy.stale_flows import Expectation, stale

LIVE = frozenset({("10.244.0.1", 53)})


@dataclass(frozen=True)
class Flow:
    address: str
    port: int
    answering: str
    answering_port: int = 53


def expected(address: str, port: int, targets: frozenset[tuple[str, int]] = LIVE) -> Expectation:
    return Expectation(Family.IPV4, address, port, targets)


def test_a_flow_to_an_endpoint_that_is_still_there_is_kept() -> None:
    assert stale([Flow("10.96.0.10", 53, "10.244.0.1")], [expected("10.96.0.10", 53)], ()) == []


def test_a_flow_to_another_endpoint_or_another_port_of_it_is_stale() -> None:
    flows = [Flow("10.96.0.10", 53, "10.244.0.9"), Flow("10.96.0.10", 53, "10.244.0.1", 5353)]
    assert stale(flows, [expected("10.96.0.10", 53)], ()) == flows


def test_a_flow_that_was_never_translated_is_stale() -> None:
    flow = Flow("10.96.0.10", 53, "10.96.0.10")
    assert stale([flow], [expected("10.96.0.10", 53)], ()) == [flow]


def test_all_flows_to_a_service_without_endpoints_are_stale() -> None:
    flow = Flow("10.96.0.10", 53, "10.244.0.1")
    assert stale([flow], [expected("10.96.0.10", 53, frozenset())], ()) == [flow]


def test_node_ports_concern_only_flows_to_addresses_of_this_node() -> None:
    mine, passing = Flow("192.0.2.1", 30053, "10.244.0.9"), Flow("198.51.100.1", 30053, "198.51.100.1")
    assert stale([mine, passing], [expected("0.0.0.0", 30053)], {"192.0.2.1"}) == [mine]


def test_flows_to_addresses_that_no_service_has_are_stale_only_inside_the_service_range() -> None:
    inside, outside = Flow("10.96.0.99", 53, "10.244.0.9"), Flow("8.8.8.8", 53, "8.8.8.8")
    assert stale([inside, outside], [], (), ["10.96.0.0/16"]) == [inside]
    assert stale([inside, outside], [], ()) == []


def test_a_frontend_that_moves_between_services_keeps_the_flows_of_the_new_one() -> None:
    flows = [Flow("10.96.0.10", 53, "10.244.0.1")]
    both = [expected("10.96.0.10", 53, frozenset()), expected("10.96.0.10", 53)]
    assert stale(flows, both, ()) == []
