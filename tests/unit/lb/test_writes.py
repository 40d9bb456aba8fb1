"""From decisions to patches: the order of finalizer and status, and leaving alone what is not ours."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import msgspec

from fairway.lb.allocation.model import request
from fairway.lb.allocation.plan import Outcome
from fairway.lb.allocation.writes import Writes, provide, release
from fairway.lb.objects import CLASS, CONDITION, FINALIZER, Service, is_ours

from .test_allocation import service

NOW = "2026-06-01T00:00:00Z"
GIVEN = Outcome((ip_address("10.0.0.1"),))


def put(target: Service, writes: Writes) -> Service:
    """What the API server would hold afterwards."""
    document: Any = msgspec.to_builtins(target)
    document.setdefault("metadata", {}).update(writes.metadata or {})
    document["status"] = document.get("status", {}) | {k: v or {} for k, v in (writes.status or {}).items()}
    document["status"]["conditions"] = (writes.status or document["status"]).get("conditions") or []
    return msgspec.convert(document, Service)


def written(target: Service, outcome: Outcome = GIVEN) -> Writes:
    return provide(target, request(target), outcome, NOW)


def test_the_finalizer_comes_before_the_address_and_goes_after_it() -> None:
    writes = written(service("a"))
    assert writes.metadata == {"finalizers": [FINALIZER]}
    assert not writes.metadata_last
    assert writes.status is not None
    assert writes.status["loadBalancer"] == {"ingress": [{"ip": "10.0.0.1", "ipMode": "VIP"}]}
    assert release(put(service("a"), writes)).metadata_last


def test_what_is_written_already_is_not_written_again() -> None:
    first = service("a")
    assert not written(put(first, written(first)))


def test_a_service_for_the_balancer_says_that_traffic_must_come_to_it() -> None:
    annotations = {"service.beta.kubernetes.io/aws-load-balancer-backend-protocol": "http"}
    writes = written(service("a", annotations=annotations))
    assert writes.status is not None
    assert writes.status["loadBalancer"]["ingress"][0]["ipMode"] == "Proxy"


def test_a_refusal_is_told_once_by_condition_and_event() -> None:
    refused = Outcome((), "NoAddressFree", "all taken")
    first = service("a")
    writes = written(first, refused)
    assert writes.status is not None
    assert writes.status["conditions"][0] == {
        "type": CONDITION,
        "status": "False",
        "reason": "NoAddressFree",
        "message": "all taken",
        "lastTransitionTime": NOW,
    }
    assert writes.notice is not None
    assert writes.notice.warning
    assert not written(put(first, writes), refused)


def test_a_service_that_never_was_ours_is_left_alone() -> None:
    foreign = msgspec.convert(
        {"metadata": {"name": "a", "finalizers": [FINALIZER]}, "spec": {"type": "ClusterIP"}}, Service
    )
    assert not release(foreign)


def test_only_services_of_our_class_or_of_none_are_ours() -> None:
    assert is_ours(service("a"), True)
    assert not is_ours(service("a"), False)
    assert is_ours(service("a", loadBalancerClass=CLASS), False)
    assert not is_ours(service("a", loadBalancerClass="example.com/other"), True)
    assert not is_ours(service("a", type="NodePort"), True)
