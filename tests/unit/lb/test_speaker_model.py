"""Which addresses are announced, and who may hold them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.api.objects import EndpointSlice, Node
from fairway.lb.balancer.annotations import PREFIX
from fairway.lb.speaker.model import (
    EXCLUDED_LABEL,
    Announcement,
    announcements,
    is_healthy,
    lease_name,
    local_services,
    may_hold,
)

from .test_allocation import service


def test_internal_addresses_and_those_of_other_classes_are_not_announced() -> None:
    services = [
        service("a", current=["10.0.0.1"]),
        service("b", current=["10.0.0.2"], annotations={PREFIX + "internal": "true"}),
        service("c", current=["10.0.0.3"], loadBalancerClass="example.com/other"),
        service("d", current=["not an address"]),
    ]
    assert announcements(services, True) == {"10.0.0.1": Announcement("10.0.0.1", ("ns/a",))}


def test_an_address_that_is_shared_is_local_if_one_of_its_services_is() -> None:
    services = [
        service("a", current=["10.0.0.1"]),
        service("b", current=["10.0.0.1"], externalTrafficPolicy="Local"),
    ]
    assert announcements(services, True)["10.0.0.1"] == Announcement("10.0.0.1", ("ns/a", "ns/b"), True)


@pytest.mark.parametrize(
    ("local", "here", "healthy", "expected"),
    [
        (False, [], True, True),
        (False, [], False, False),
        (True, [], True, False),
        (True, ["ns/a"], True, False),
        (True, ["ns/a", "ns/b"], True, True),
        (True, ["ns/a", "ns/b"], False, False),
    ],
)
def test_policy_local_needs_an_endpoint_of_every_service_here(
    local: bool, here: list[str], healthy: bool, expected: bool
) -> None:
    assert may_hold(Announcement("10.0.0.1", ("ns/a", "ns/b"), local), frozenset(here), healthy) is expected


def test_only_ready_endpoints_of_this_node_count() -> None:
    def slice_of(name: str, node: str, ready: bool) -> EndpointSlice:
        labels = {"kubernetes.io/service-name": name}
        entry = {"addresses": ["10.1.0.1"], "nodeName": node, "conditions": {"ready": ready}}
        meta = {"name": f"{name}-1", "namespace": "ns", "labels": labels}
        return msgspec.convert({"metadata": meta, "endpoints": [entry]}, EndpointSlice)

    slices = [slice_of("a", "n1", True), slice_of("b", "n1", False), slice_of("c", "n2", True)]
    assert local_services(slices, "n1") == {"ns/a"}


def node(**manifest: Any) -> Node:
    return msgspec.convert(manifest, Node)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, True),
        (node(), True),
        (node(status={"conditions": [{"type": "Ready", "status": "True"}]}), True),
        (node(status={"conditions": [{"type": "Ready", "status": "Unknown"}]}), False),
        (node(metadata={"labels": {EXCLUDED_LABEL: ""}}), False),
        (node(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), False),
    ],
)
def test_a_node_holds_addresses_only_while_it_is_ready_and_not_excluded(
    given: Node | None, expected: bool
) -> None:
    assert is_healthy(given) is expected


def test_the_name_of_a_lease_is_a_name_for_both_families() -> None:
    assert lease_name("10.0.0.1") == "fairway-lb-10.0.0.1"
    assert lease_name("fd00::1") == "fairway-lb-fd00-0000-0000-0000-0000-0000-0000-0001"
