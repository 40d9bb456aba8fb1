"""The rules of a Lease, on a clock that is moved by hand: nobody speaks before the last one is silent."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from fairway.lb.config import Terms
from fairway.lb.speaker.ownership import COURTESY_SECONDS, SPREAD_SECONDS, Act, Ownership, Record

TERMS = Terms(duration=1, margin=0.2)
ADDRESS = "10.0.0.1"


def lease(holder: str, version: int, duration: float = 1.0, leave: str = "") -> Record:
    return Record(holder, duration, renewed=str(version), version=version, leave=leave)


def test_a_holder_is_silent_a_margin_before_its_lease_ends_counted_from_before_it_asked() -> None:
    ours = Ownership(ADDRESS, "a", TERMS, absent_since=0.0)
    ours.claimed(lease("a", 1), began=10.0, now=10.5)
    assert ours.may_answer(10.79)
    assert not ours.may_answer(10.8)


def test_another_node_waits_a_full_duration_from_when_it_saw_the_last_renewal() -> None:
    theirs = Ownership(ADDRESS, "b", TERMS, absent_since=0.0)
    theirs.observe(lease("a", 1), now=20.0)
    assert theirs.step(20.99, True).act is Act.WAIT
    assert theirs.step(21.0 + SPREAD_SECONDS, True).act is Act.CLAIM
    theirs.observe(lease("a", 2), now=20.9)
    assert theirs.step(21.5, True).act is Act.WAIT


def test_a_note_on_the_lease_is_no_sign_of_life() -> None:
    theirs = Ownership(ADDRESS, "b", TERMS, absent_since=0.0)
    theirs.observe(lease("a", 1), now=20.0)
    theirs.observe(replace(lease("a", 1), version=2, leave="a"), now=20.9)
    assert theirs.step(21.0 + SPREAD_SECONDS, True).act is Act.CLAIM


def test_a_lease_that_was_given_back_is_free_at_once() -> None:
    theirs = Ownership(ADDRESS, "b", TERMS, absent_since=0.0)
    theirs.observe(lease("a", 1), now=20.0)
    theirs.observe(lease("", 2), now=20.1)
    assert theirs.step(20.1 + SPREAD_SECONDS, True).act is Act.CLAIM


def test_a_deleted_lease_is_waited_for_as_if_it_were_there() -> None:
    theirs = Ownership(ADDRESS, "b", TERMS, absent_since=0.0)
    theirs.observe(lease("a", 1), now=20.0)
    theirs.observe(None, now=20.1)
    assert theirs.step(20.9, True).act is Act.WAIT


def test_a_node_that_has_just_started_waits_even_where_there_is_no_lease() -> None:
    fresh = Ownership(ADDRESS, "b", TERMS, absent_since=50.0)
    assert fresh.step(50.5, True).act is Act.WAIT
    assert fresh.step(51.0 + SPREAD_SECONDS, True).act is Act.CLAIM


def test_a_holder_whose_lease_was_deleted_or_taken_is_silent_at_once() -> None:
    for news in (None, lease("b", 2)):
        ours = Ownership(ADDRESS, "a", TERMS, absent_since=0.0)
        ours.claimed(lease("a", 1), began=10.0, now=10.0)
        ours.observe(news, now=10.1)
        assert not ours.may_answer(10.1)


def test_news_that_are_older_than_our_own_write_change_nothing() -> None:
    ours = Ownership(ADDRESS, "a", TERMS, absent_since=0.0)
    ours.claimed(lease("a", 5), began=10.0, now=10.0)
    ours.observe(lease("b", 4), now=10.1)
    assert ours.may_answer(10.1)


def test_a_renewal_without_an_answer_prolongs_nothing() -> None:
    ours = Ownership(ADDRESS, "a", TERMS, absent_since=0.0)
    ours.claimed(lease("a", 1), began=10.0, now=10.0)
    assert ours.step(10.3, True).act is Act.CLAIM
    ours.failed(10.7)
    assert not ours.may_answer(10.8)


def test_a_node_that_may_not_hold_the_address_leaves_it_and_does_not_hurry_when_that_fails() -> None:
    ours = Ownership(ADDRESS, "a", TERMS, absent_since=0.0)
    ours.claimed(lease("a", 1), began=10.0, now=10.0)
    assert ours.step(10.1, False).act is Act.LEAVE
    ours.silence()
    ours.failed(10.1)
    assert ours.step(10.1, False).act is Act.WAIT
    assert ours.step(11.0, False).act is Act.LEAVE


def test_a_node_that_was_asked_to_leave_lets_others_go_first_but_not_for_ever() -> None:
    ours = Ownership(ADDRESS, "a", TERMS, absent_since=0.0)
    ours.claimed(lease("a", 1), began=10.0, now=10.0)
    ours.observe(replace(lease("a", 1), version=2, leave="a"), now=10.1)
    assert ours.step(10.1, True).act is Act.LEAVE
    ours.observe(lease("", 3, leave="a"), now=10.2)
    assert ours.step(10.2 + SPREAD_SECONDS, True).act is Act.WAIT
    assert ours.step(10.2 + SPREAD_SECONDS + COURTESY_SECONDS, True).act is Act.CLAIM


@pytest.mark.parametrize("seed", range(30))
def test_no_two_of_three_nodes_ever_answer_whatever_gets_lost_or_late(seed: int) -> None:
    """Random nodes stall, lose answers and see watches late; every node's clock starts elsewhere."""
    chance = random.Random(seed)
    skew = {name: chance.uniform(0, 1000) for name in "abc"}
    nodes = {name: Ownership(ADDRESS, name, TERMS, absent_since=skew[name]) for name in "abc"}
    stored: Record | None = None
    underway: list[tuple[float, str, Record | None, float]] = []
    news: list[tuple[float, str, Record | None]] = []
    stalled = dict.fromkeys("abc", 0.0)
    turns = set()
    for tick in range(6000):
        now = tick * 0.01
        for name in "abc":
            if chance.random() < 0.002:
                stalled[name] = now + chance.uniform(0, 3)
        for entry in [e for e in underway if e[0] <= now]:
            underway.remove(entry)
            _, name, basis, began = entry
            if (stored.version if stored else 0) == (basis.version if basis else 0):
                stored = lease(name, (stored.version if stored else 0) + 1)
                news += [(now + chance.uniform(0, 0.3), other, stored) for other in "abc"]
                if chance.random() < 0.9:
                    nodes[name].claimed(stored, began, now + skew[name])
            nodes[name].failed(now + skew[name]) if nodes[name].record != stored else None
        for piece in [p for p in news if p[0] <= now and stalled[p[1]] <= now]:
            news.remove(piece)
            nodes[piece[1]].observe(piece[2], now + skew[piece[1]])
        for name, node in nodes.items():
            busy = any(entry[1] == name for entry in underway)
            if stalled[name] <= now and not busy and node.step(now + skew[name], True).act is Act.CLAIM:
                underway.append((now + chance.uniform(0, 0.6), name, node.record, now + skew[name]))
        speaking = [name for name, node in nodes.items() if node.may_answer(now + skew[name])]
        assert len(speaking) <= 1, (now, speaking)
        turns.update(speaking)
    assert turns
