"""Answering on a link: only for what is held, at the moment of each frame."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from fairway.kernel.link import FakeLink
from fairway.lb.speaker import wire
from fairway.lb.speaker.announcer import Announcer

THEIRS = bytes.fromhex("020000000002")
ADDRESS = "10.0.0.9"


def build(held: set[str]) -> tuple[FakeLink, Announcer, list[tuple[str, str]]]:
    link, conflicts = FakeLink(), list[tuple[str, str]]()
    announcer = Announcer(link, held.__contains__, lambda *words: conflicts.append(words), lambda _: None)
    return link, announcer, conflicts


def test_only_addresses_that_are_held_are_answered_for() -> None:
    held = {ADDRESS}
    link, announcer, _ = build(held)
    link.arrive(wire.probe(ip_address(ADDRESS), THEIRS))
    link.arrive(wire.probe(ip_address("10.0.0.8"), THEIRS))
    announcer.receive()
    assert [wire.read(frame) for frame in link.sent] == [wire.Claim(ip_address(ADDRESS), link.mac)]
    held.clear()
    link.arrive(wire.probe(ip_address(ADDRESS), THEIRS))
    announcer.receive()
    assert len(link.sent) == 1


def test_another_machine_that_claims_a_held_address_is_a_conflict_and_one_of_ours_is_not() -> None:
    link, announcer, conflicts = build({ADDRESS})
    link.arrive(wire.announcement(ip_address(ADDRESS), link.mac)[0])
    link.arrive(wire.announcement(ip_address("10.0.0.8"), THEIRS)[0])
    announcer.receive()
    assert conflicts == []
    link.arrive(wire.announcement(ip_address(ADDRESS), THEIRS)[1])
    announcer.receive()
    assert conflicts == [(ADDRESS, "02:00:00:00:00:02")]


def test_nothing_is_announced_that_is_not_held() -> None:
    link, announcer, _ = build(set())
    assert not announcer.announce(ADDRESS)
    assert link.sent == []


def test_questions_about_ipv6_addresses_are_heard_before_the_address_is_held() -> None:
    link, announcer, _ = build(set())
    announcer.listen("fd00::12:3456")
    assert link.groups == {"ff02::1:ff12:3456"}


@pytest.mark.parametrize("address", ["10.0.0.9", "fd00::9"])
def test_a_claim_is_heard_before_a_question_that_came_earlier_is_answered(address: str) -> None:
    """A process that was stalled finds both waiting."""
    link, held = FakeLink(), {address}
    announcer = Announcer(link, held.__contains__, lambda *_: None, held.discard)
    for claim in (
        wire.take_over(ip_address(address), THEIRS),
        *wire.announcement(ip_address(address), THEIRS),
    ):
        held.add(address)
        link.arrive(wire.probe(ip_address(address), bytes.fromhex("020000000003")))
        link.arrive(claim)
        announcer.receive()
        assert link.sent == []


def test_a_host_that_only_asks_contests_nothing() -> None:
    contested: list[str] = []
    link = FakeLink()
    announcer = Announcer(link, lambda _: True, lambda *_: None, contested.append)
    link.arrive(wire.probe(ip_address(ADDRESS), THEIRS))
    link.arrive(wire.take_over(ip_address(ADDRESS), link.mac))
    announcer.receive()
    assert contested == []


def test_before_anything_is_announced_claims_that_wait_are_heard() -> None:
    link, held = FakeLink(), {ADDRESS}
    announcer = Announcer(link, held.__contains__, lambda *_: None, held.discard)
    link.arrive(wire.take_over(ip_address(ADDRESS), THEIRS))
    assert not announcer.announce(ADDRESS)
    assert link.sent == []
