"""The trigger time: the earliest of the changes an object answers to."""

from __future__ import annotations

from fairway.api.timestamps import stamp
from fairway.controllers.triggertime import TriggerTimes

from .objects import NOW, pod, service


def test_a_service_seen_for_the_first_time_counts_from_its_creation() -> None:
    times = TriggerTimes()
    assert times.observe(service(), [pod("a")]).trigger == service().metadata.creation_timestamp


def test_afterwards_it_is_the_earliest_turn_of_a_pods_readiness() -> None:
    times = TriggerTimes()
    times.written(service(), times.observe(service(), [pod("a", ready_since=NOW - 600)]))
    changed = [pod("a", ready_since=NOW - 5), pod("b", ready_since=NOW - 9)]
    assert times.observe(service(), changed).trigger == stamp(NOW - 9)


def test_a_change_without_a_time_has_no_trigger() -> None:
    times = TriggerTimes()
    times.written(service(), times.observe(service(), [pod("a"), pod("b")]))
    assert times.observe(service(), [pod("b")]).trigger is None


def test_a_write_that_failed_is_measured_from_the_same_change() -> None:
    times = TriggerTimes()
    times.written(service(), times.observe(service(), []))
    first = times.observe(service(), [pod("a", ready_since=NOW - 5)])
    assert times.observe(service(), [pod("a", ready_since=NOW - 5)]) == first
