"""/healthz and /livez, as kube-proxy answers them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from fairway.api.objects import Node
from fairway.httpserver import Response
from fairway.proxy.health import Health


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime.fromtimestamp(1_700_000_000 + self.seconds, UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health(60.0, clock, clock.now)


def told(answer: Response) -> dict[str, Any]:
    return dict(msgspec.json.decode(answer.body))


def node(**more: Any) -> Node:
    return msgspec.convert({"metadata": {"name": "n1"}, **more}, Node)


def test_a_proxy_that_is_starting_is_healthy(health: Health, clock: Clock) -> None:
    health.queued()
    clock.seconds = 1000.0
    assert (health.healthz().status, health.livez().status) == (200, 200)


def test_a_change_that_waits_too_long_is_unhealthy_until_it_is_in_force(health: Health, clock: Clock) -> None:
    health.updated()
    clock.seconds = 10.0
    health.queued()
    clock.seconds = 50.0
    health.queued()
    clock.seconds = 69.0
    assert health.healthz().status == 200
    clock.seconds = 70.0
    assert (health.healthz().status, health.livez().status) == (503, 503)
    assert told(health.healthz())["lastUpdated"] == "2023-11-14T22:13:20.000000Z"
    health.updated()
    assert (health.healthz().status, health.livez().status) == (200, 200)


def test_a_healthy_proxy_counts_as_updated_now(health: Health, clock: Clock) -> None:
    health.updated()
    clock.seconds = 5000.0
    answer = told(health.healthz())
    assert answer["lastUpdated"] == answer["currentTime"] == "2023-11-14T23:36:40.000000Z"
    assert answer["status"]["IPv4"] == {"lastUpdated": "2023-11-14T22:13:20.000000Z", "healthy": True}


@pytest.mark.parametrize(
    "going",
    [
        {"metadata": {"name": "n1", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"spec": {"taints": [{"key": "ToBeDeletedByClusterAutoscaler"}]}},
        None,
    ],
    ids=["deleted", "tainted", "gone"],
)
def test_a_node_that_goes_is_not_eligible_but_the_proxy_lives(
    health: Health, going: dict[str, Any] | None
) -> None:
    health.updated()
    health.node_changed(node())
    assert told(health.healthz())["nodeEligible"] is True
    health.node_changed(None if going is None else msgspec.convert(going, Node))
    assert health.healthz().status == 503
    assert told(health.healthz())["nodeEligible"] is False
    assert told(health.healthz())["healthy"] is True
    assert health.livez().status == 200
    assert "nodeEligible" not in told(health.livez())


def test_other_taints_are_no_matter(health: Health) -> None:
    health.node_changed(node(spec={"taints": [{"key": "dedicated"}]}))
    assert health.healthz().status == 200
