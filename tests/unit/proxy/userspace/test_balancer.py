"""Whose turn it is: round robin, affinity, and who is shown to backends."""

from __future__ import annotations

from collections import Counter

import pytest

from fairway.proxy.userspace.balancer import Balancer
from fairway.proxy.userspace.messages import Backend

A, B, C, D = (Backend(f"10.244.0.{n}", 80) for n in range(1, 5))


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def balancer(clock: Clock) -> Balancer:
    return Balancer(clock)


def test_backends_take_exact_turns(balancer: Balancer) -> None:
    balancer.update((A, B, C))
    assert [balancer.choose("x") for _ in range(7)] == [A, B, C, A, B, C, A]


def test_without_backends_there_is_no_choice(balancer: Balancer) -> None:
    assert balancer.choose("x") is None
    balancer.update((), 10)
    assert balancer.choose("x") is None
    assert balancer.clients == 0


def test_the_turn_goes_on_after_the_last_one_when_backends_change(balancer: Balancer) -> None:
    balancer.update((A, B, C))
    assert [balancer.choose("x"), balancer.choose("x")] == [A, B]
    balancer.update((A, B, C, D))
    assert [balancer.choose("x") for _ in range(3)] == [C, D, A]
    balancer.update((C, D))
    assert Counter(balancer.choose("x") for _ in range(4)) == {C: 2, D: 2}


def test_a_client_with_affinity_stays_while_it_keeps_coming(balancer: Balancer, clock: Clock) -> None:
    balancer.update((A, B, C), 10)
    assert balancer.choose("x") == A
    assert balancer.choose("y") == B
    for _ in range(5):
        clock.now += 9
        assert balancer.choose("x") == A
    clock.now += 10
    assert balancer.choose("x") == C


def test_a_client_whose_backend_goes_gets_another_and_stays_there(balancer: Balancer) -> None:
    balancer.update((A, B, C), 10)
    assert balancer.choose("x") == A
    balancer.update((B, C), 10)
    second = balancer.choose("x")
    assert second in (B, C)
    assert balancer.choose("x") == second


def test_a_backend_that_fails_loses_the_client_that_was_tied_to_it(balancer: Balancer) -> None:
    balancer.update((A, B), 10)
    assert balancer.choose("x") == A
    assert balancer.choose_again("x") == B
    assert balancer.choose("x") == B


def test_affinity_that_is_turned_off_ties_nobody(balancer: Balancer) -> None:
    balancer.update((A, B), 10)
    balancer.choose("x")
    balancer.update((A, B))
    assert balancer.clients == 0
    assert {balancer.choose("x"), balancer.choose("x")} == {A, B}


def test_clients_that_stay_away_are_forgotten(balancer: Balancer, clock: Clock) -> None:
    balancer.update((A, B), 10)
    balancer.choose("x")
    clock.now += 6
    balancer.choose("y")
    clock.now += 6
    balancer.forget_expired()
    assert balancer.clients == 1


def test_only_strangers_are_shown_to_a_backend_and_nobody_to_itself(balancer: Balancer) -> None:
    shown = Backend("10.244.0.9", 80, transparent=True)
    balancer.update((shown, A), inside=("10.244.0.0/16",))
    assert balancer.shows("192.0.2.7", shown)
    assert not balancer.shows("10.244.3.3", shown)
    assert not balancer.shows("192.0.2.7", A)
    balancer.update((shown, A))
    assert not balancer.shows("10.244.0.9", shown)
