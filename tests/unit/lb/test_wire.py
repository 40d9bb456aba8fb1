"""ARP and neighbour discovery: frames as they are on the wire, and what malformed ones lead to."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.lb.speaker import wire

OURS, THEIRS = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
FOUR, SIX = ip_address("10.0.0.9"), ip_address("fd00::12:3456")

# "who has 10.0.0.9? tell 10.0.0.2", from 02:00:00:00:00:02
REQUEST = bytes.fromhex(
    "ffffffffffff 020000000002 0806 0001 0800 06 04 0001 020000000002 0a000002 000000000000 0a000009"
)


def test_an_arp_question_is_answered_to_the_asker() -> None:
    question = wire.read(REQUEST)
    assert question == wire.Question(FOUR, ip_address("10.0.0.2"), THEIRS)
    assert isinstance(question, wire.Question)
    expected = (
        "020000000002 020000000001 0806 0001 0800 06 04 0002 020000000001 0a000009 020000000002 0a000002"
    )
    assert wire.answer(question, OURS) == bytes.fromhex(expected)


@pytest.mark.parametrize("address", [FOUR, SIX])
def test_a_probe_is_a_question_in_the_name_of_nobody(address: wire.Address) -> None:
    question = wire.read(wire.probe(address, OURS))
    assert isinstance(question, wire.Question)
    assert question.address == address
    assert int(question.asker) == 0


@pytest.mark.parametrize("address", [FOUR, SIX])
def test_a_node_that_takes_over_is_told_from_a_host_that_asks(address: wire.Address) -> None:
    taking, asking = (wire.read(frame(address, OURS)) for frame in (wire.take_over, wire.probe))
    assert isinstance(taking, wire.Question)
    assert isinstance(asking, wire.Question)
    assert (taking.takes_over, asking.takes_over) == (True, False)
    assert (taking.address, int(taking.asker), taking.mac) == (address, 0, OURS)


@pytest.mark.parametrize("address", [FOUR, SIX])
def test_announcements_and_answers_are_claims(address: wire.Address) -> None:
    for frame in wire.announcement(address, OURS):
        assert wire.read(frame) == wire.Claim(address, OURS)
    question = wire.read(wire.probe(address, THEIRS))
    assert isinstance(question, wire.Question)
    assert wire.read(wire.answer(question, OURS)) == wire.Claim(address, OURS)


def test_questions_about_an_ipv6_address_go_to_its_group() -> None:
    assert str(wire.solicited_node(ip_address("fd00::12:3456"))) == "ff02::1:ff12:3456"  # type: ignore[arg-type]


def test_the_checksum_of_neighbour_discovery_is_right() -> None:
    """Summed up with its own checksum, a packet gives all ones."""
    frame = wire.announcement(SIX, OURS)[0]
    packet = frame[14:]
    pseudo = packet[8:40] + (len(packet) - 40).to_bytes(4, "big") + (58).to_bytes(4, "big")
    total = sum(
        int.from_bytes((pseudo + packet[40:])[i : i + 2], "big")
        for i in range(0, len(pseudo + packet[40:]), 2)
    )
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    assert total == 0xFFFF


@given(st.binary(max_size=200))
def test_no_frame_is_too_strange_to_be_read(noise: bytes) -> None:
    wire.read(noise)
    wire.read(REQUEST[:14] + noise)
    wire.read(wire.announcement(SIX, OURS)[0][:54] + noise)


def test_a_neighbour_message_that_came_over_a_router_is_not_believed() -> None:
    frame = bytearray(wire.announcement(SIX, OURS)[0])
    frame[14 + 7] = 254
    assert wire.read(bytes(frame)) is None
