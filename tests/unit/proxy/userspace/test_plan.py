"""Which listeners a Service port gets, and what the rules see in the place of its endpoints."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.proxy.changes import Tracker
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place
from fairway.proxy.userspace.messages import Backend, Bound, Listener
from fairway.proxy.userspace.plan import Assignment, Planner, redirected
from tests.unit.proxy.objects import endpoint, endpoint_slice, service

CLUSTER, LOCAL = "default/web/tcp/ip/cluster", "default/web/tcp/ip/local"
INSIDE = "10.244.0.0/16"


class Node:
    def __init__(self) -> None:
        self.tracker = Tracker(Place("n1"))
        self.planner = Planner(Settings(cluster_cidrs=(INSIDE,)), {"192.0.2.1"})

    def put(self, *endpoints: dict[str, Any] | str, protocol: str = "TCP", **spec: Any) -> Assignment:
        self.tracker.service_changed("default/web", None, service(protocol=protocol, **spec))
        self.tracker.slice_changed("default/web-1", None, endpoint_slice(endpoints, protocol=protocol))
        return self.planner.update(self.tracker.take())


@pytest.fixture
def node() -> Node:
    return Node()


def test_a_service_port_is_one_listener_with_all_its_endpoints(node: Node) -> None:
    assert node.put("10.244.0.1", "10.244.0.2") == Assignment(
        (Listener(CLUSTER, False, False, (Backend("10.244.0.1", 9376), Backend("10.244.0.2", 9376))),)
    )


def test_nothing_is_said_twice(node: Node) -> None:
    node.put("10.244.0.1")
    assert node.put("10.244.0.1") == Assignment()
    changed = node.put("10.244.0.2")
    assert [listener.key for listener in changed.serve] == [CLUSTER]
    assert changed.forget == ()


def test_without_endpoints_there_is_no_listener(node: Node) -> None:
    node.put("10.244.0.1")
    assert node.put() == Assignment((), (CLUSTER,))
    assert node.planner.keys() == []


def test_a_deleted_service_is_forgotten(node: Node) -> None:
    node.put("10.244.0.1")
    assert node.planner.update({"default/web": ()}) == Assignment((), (CLUSTER,))
    assert node.planner.states == {}


def test_policy_local_outside_has_a_listener_of_its_own_that_shows_clients(node: Node) -> None:
    here, there = endpoint("10.244.0.1", "n1"), endpoint("10.244.0.2", "n2")
    serve = node.put(here, there, type="NodePort", nodePort=30061, externalTrafficPolicy="Local").serve
    assert [listener.key for listener in serve] == [CLUSTER, LOCAL]
    assert not any(backend.transparent for backend in serve[0].backends)
    assert serve[1].backends == (Backend("10.244.0.1", 9376, transparent=True),)
    assert serve[1].inside == (INSIDE,)


def test_a_backend_with_an_address_of_the_node_can_not_be_shown_its_clients(node: Node) -> None:
    mine = endpoint("192.0.2.1", "n1")
    serve = node.put(mine, type="NodePort", nodePort=30061, externalTrafficPolicy="Local").serve
    assert serve[1].backends == (Backend("192.0.2.1", 9376, transparent=False),)


def test_policy_local_inside_shows_nobody(node: Node) -> None:
    serve = node.put(endpoint("10.244.0.1", "n1"), internalTrafficPolicy="Local").serve
    assert [(listener.key, listener.backends) for listener in serve] == [
        (LOCAL, (Backend("10.244.0.1", 9376),))
    ]


def test_to_the_rules_the_relay_is_the_only_endpoint_and_affinity_is_not_theirs(node: Node) -> None:
    node.put("10.244.0.1", "10.244.0.2", sessionAffinity="ClientIP")
    (state,) = node.planner.states["default/web"]
    seen = redirected(state, {CLUSTER: Bound("169.254.96.1", 61000)})
    assert [(e.ip, e.port) for e in seen.pools.cluster] == [("169.254.96.1", 61000)]
    assert seen.pools.any
    assert seen.port.affinity_seconds == 0


@pytest.mark.parametrize("protocol", ["TCP", "SCTP"])
def test_what_has_no_listener_leads_nowhere(node: Node, protocol: str) -> None:
    node.put(*(["10.244.0.1"] if protocol == "SCTP" else []), protocol=protocol)
    assert node.planner.keys() == []
    (state,) = node.planner.states["default/web"]
    pools = redirected(state, {}).pools
    assert (pools.cluster, pools.local, pools.any) == ((), (), False)
