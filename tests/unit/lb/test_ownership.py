"""The rules of a Lease, on a clock that is moved by hand: nobody speaks before the last one is silent."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from fairway.lb.config import Terms
from fairway.lb.speaker.ownership import (
    ASK_SECONDS,
    COURTESY_SECONDS,
    SPREAD_SECONDS,
    Act,
    Ownership,
    Record,
)

TERMS = Terms(duration=1, margin=0.2)
ADDRESS = "10.0.0.1"


def lease(holder: str, version: int, duration: float = 1.0, leave: str = "") -> Record:
    return Record(holder, duration, renewed=str(version), version=version, leave=leave)


FREE = lease("", 0)
"""What whoever had the address before has left behind."""


def holding() -> Ownership:
    """By a Lease that was taken at 10."""
    ours = Ownership(ADDRESS, "a", TERMS, absent_since=0.0)
    ours.claimed(lease("a", 1), began=10.0, now=10.0, before=FREE)
    return ours


def test_a_holder_is_silent_a_margin_before_its_lease_ends_counted_from_before_it_asked() -> None:
    ours = Ownership(ADDRESS, "a", TERMS, absent_since=0.0)
    ours.claimed(lease("a", 1), began=10.0, now=10.5, before=FREE)
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
        ours = holding()
        ours.observe(news, now=10.1)
        assert not ours.may_answer(10.1)


def test_news_that_are_older_than_our_own_write_change_nothing() -> None:
    ours = Ownership(ADDRESS, "a", TERMS, absent_since=0.0)
    ours.claimed(lease("a", 5), began=10.0, now=10.0, before=FREE)
    ours.observe(lease("b", 4), now=10.1)
    assert ours.may_answer(10.1)


def test_a_renewal_without_an_answer_prolongs_nothing() -> None:
    ours = holding()
    assert ours.step(10.3, True).act is Act.CLAIM
    ours.failed(10.7)
    assert not ours.may_answer(10.8)


def test_a_node_that_may_not_hold_the_address_leaves_it_and_does_not_hurry_when_that_fails() -> None:
    ours = holding()
    assert ours.step(10.1, False).act is Act.LEAVE
    ours.silence()
    ours.failed(10.1)
    assert ours.step(10.1, False).act is Act.WAIT
    assert ours.step(11.0, False).act is Act.LEAVE


def test_a_node_that_was_asked_to_leave_lets_others_go_first_but_not_for_ever() -> None:
    ours = holding()
    ours.observe(replace(lease("a", 1), version=2, leave="a"), now=10.1)
    assert ours.step(10.1, True).act is Act.LEAVE
    ours.observe(lease("", 3, leave="a"), now=10.2)
    assert ours.step(10.2 + SPREAD_SECONDS, True).act is Act.WAIT
    assert ours.step(10.2 + SPREAD_SECONDS + COURTESY_SECONDS, True).act is Act.CLAIM


def test_a_holder_goes_on_for_as_long_as_nobody_can_renew_anything() -> None:
    ours, now = holding(), 10.3
    while now < 100:
        ours.unreachable(now)
        now += 1.1
        assert ours.may_answer(now)
    ours.claimed(lease("a", 2), began=now, now=now, before=ours.record)
    assert ours.may_answer(now)
    assert not ours.may_answer(now + 0.8)


@pytest.mark.parametrize("lease_ended", [True, False])
def test_a_holder_that_goes_on_stops_for_good_when_it_hears_of_another(lease_ended: bool) -> None:
    ours = holding()
    ours.unreachable(10.3)
    now = 11.0 if lease_ended else 10.4
    ours.contested()
    assert ours.may_answer(now) is not lease_ended
    for moment in (11.1, 11.2, 12.0):
        ours.unreachable(moment)
        assert not ours.may_answer(moment)


def test_a_holder_that_was_absent_may_have_missed_who_came_and_does_not_go_on() -> None:
    ours = holding()
    ours.unreachable(10.8 + TERMS.duration + 0.01)
    assert not ours.may_answer(11.9)
    ours = holding()
    ours.unreachable(10.3)
    assert not ours.may_answer(15.0)
    ours.unreachable(15.0)
    assert not ours.may_answer(15.0)


def test_a_holder_whose_renewal_was_refused_and_who_cannot_see_why_does_not_go_on() -> None:
    ours = holding()
    ours.contested()  # what that comes to
    ours.failed(10.3)
    assert not ours.may_answer(10.8)


@pytest.mark.parametrize(("before", "asks"), [(None, True), (lease("b", 1), True), (FREE, False)])
def test_whoever_takes_an_address_from_another_asks_before_it_speaks(
    before: Record | None, asks: bool
) -> None:
    ours = Ownership(ADDRESS, "a", TERMS, absent_since=0.0)
    if before:
        ours.observe(before, 9.0)
    # Our own write is often seen before it is answered.
    ours.observe(lease("a", 2), 10.1)
    ours.claimed(lease("a", 2), began=10.0, now=10.1, before=before)
    assert ours.must_ask(10.1) is asks
    assert ours.may_answer(10.3) is not asks
    ours.asking(10.3)
    assert ours.must_ask(10.3) is asks
    assert ours.may_answer(10.3 + ASK_SECONDS)
    assert not ours.must_ask(10.3 + ASK_SECONDS)


def test_a_lease_that_ended_before_it_was_known_to_be_ours_is_not_renewed_without_asking() -> None:
    ours = Ownership(ADDRESS, "a", TERMS, absent_since=0.0)
    ours.claimed(lease("a", 2), began=10.0, now=11.0, before=lease("b", 1))
    assert not ours.must_ask(11.0)
    ours.claimed(lease("a", 3), began=11.0, now=11.1, before=lease("a", 2))
    assert ours.must_ask(11.1)
    assert not ours.may_answer(11.1)


def test_whoever_learns_from_a_watch_that_it_has_taken_an_address_asks_too() -> None:
    ours = Ownership(ADDRESS, "a", TERMS, absent_since=0.0)
    ours.observe(lease("b", 1), 9.0)
    ours.unreachable(10.0)
    ours.observe(lease("a", 2), 10.1)
    ours.claimed(lease("a", 3), began=10.2, now=10.2, before=lease("a", 2))
    assert ours.must_ask(10.2)
    assert not ours.may_answer(10.3)


def test_whoever_could_not_see_the_holder_renew_does_not_take_that_for_its_end() -> None:
    theirs = Ownership(ADDRESS, "b", TERMS, absent_since=0.0)
    theirs.observe(lease("a", 1), now=20.0)
    assert theirs.step(21.1, True).act is Act.CLAIM
    theirs.unreachable(21.2)
    assert theirs.step(22.1, True).act is Act.WAIT
    assert theirs.step(22.2 + SPREAD_SECONDS, True).act is Act.CLAIM


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
                    nodes[name].claimed(stored, began, now + skew[name], basis)
            nodes[name].failed(now + skew[name]) if nodes[name].record != stored else None
        for piece in [p for p in news if p[0] <= now and stalled[p[1]] <= now]:
            news.remove(piece)
            nodes[piece[1]].observe(piece[2], now + skew[piece[1]])
        for name, node in nodes.items():
            busy = any(entry[1] == name for entry in underway)
            if stalled[name] <= now and not busy and node.step(now + skew[name], True).act is Act.CLAIM:
                underway.append((now + chance.uniform(0, 0.6), name, node.record, now + skew[name]))
        for name, node in nodes.items():
            if stalled[name] <= now and node.must_ask(now + skew[name]):
                node.asking(now + skew[name])
        speaking = [name for name, node in nodes.items() if node.may_answer(now + skew[name])]
        assert len(speaking) <= 1, (now, speaking)
        turns.update(speaking)
    assert turns


class Network:
    """Three nodes of which one after the other loses the API server, stalls, or both."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.nodes = {name: Ownership(ADDRESS, name, TERMS, absent_since=0.0) for name in "abc"}
        self._stored: Record | None = None
        self._underway: list[tuple[float, str, Record | None, float]] = []
        self._news: list[tuple[float, str, Record | None]] = []
        self._stalled, self._away = dict.fromkeys("abc", 0.0), dict.fromkeys("abc", 0.0)
        # Questions that a stalled node will find in its socket when it wakes up, before it does anything.
        self._waiting: set[str] = set()
        self.went_on = 0

    def tick(self, now: float) -> list[str]:
        """Who answers then."""
        for name in "abc":
            if self._chance.random() < 0.001:
                self._stalled[name] = now + self._chance.uniform(0, 5)
            if self._chance.random() < 0.001:
                self._away[name] = now + self._chance.uniform(0, 8)
        if self._chance.random() < 0.0005:
            self._away = dict.fromkeys("abc", now + 6)
        self._answer_writes(now)
        self._exchange(now)
        awake = {name: node for name, node in self.nodes.items() if self._stalled[name] <= now}
        for name, node in awake.items():
            if all(entry[1] != name for entry in self._underway) and node.step(now, True).act is Act.CLAIM:
                delay = self._chance.choice((0.01, 1.0)) if self._away[name] > now else 0.3
                self._underway.append((now + self._chance.uniform(0, delay), name, node.record, now))
        speaking = [name for name, node in awake.items() if node.may_answer(now)]
        self.went_on += any(self._away[name] > now + 2 for name in speaking)
        return speaking

    def _answer_writes(self, now: float) -> None:
        for entry in [e for e in self._underway if e[0] <= now and self._stalled[e[1]] <= now]:
            self._underway.remove(entry)
            _, name, basis, began = entry
            node = self.nodes[name]
            if name in self._waiting:
                self._hear(name)
            if self._away[name] > now:
                node.unreachable(now)
            elif (self._stored.version if self._stored else 0) != (basis.version if basis else 0):
                node.observe(self._stored, now)
                node.failed(now)
            else:
                self._stored = lease(name, (self._stored.version if self._stored else 0) + 1)
                self._news += [(now + self._chance.uniform(0, 0.2), other, self._stored) for other in "abc"]
                if self._chance.random() < 0.9:
                    node.claimed(self._stored, began, now, basis)
                else:
                    node.unreachable(now)  # the answer was lost

    def _exchange(self, now: float) -> None:
        for piece in [p for p in self._news if p[0] <= now]:
            if self._stalled[piece[1]] <= now and self._away[piece[1]] <= now:
                self._news.remove(piece)
                self.nodes[piece[1]].observe(piece[2], now)
        for name, node in self.nodes.items():
            if self._stalled[name] <= now and node.must_ask(now):
                node.asking(now)
                self._waiting |= self.nodes.keys() - {name}
        for name in [n for n in self._waiting if self._stalled[n] <= now]:
            self._hear(name)

    def _hear(self, name: str) -> None:
        self._waiting.discard(name)
        self.nodes[name].contested()


def test_no_two_nodes_ever_answer_when_some_go_on_without_the_api_server() -> None:
    went_on = 0
    for seed in range(40):
        net = Network(seed)
        for tick in range(6000):
            speaking = net.tick(tick * 0.01)
            assert len(speaking) <= 1, (seed, tick, speaking)
        went_on += net.went_on
    assert went_on > 1000
