"""Framing of netfilter's netlink."""

from __future__ import annotations

import struct

from fairway.kernel import nfnetlink


def test_attributes_survive_the_way_out_and_in() -> None:
    data = (
        nfnetlink.text(1, "name")
        + nfnetlink.number(2, 0x01020304)
        + nfnetlink.nested(3, nfnetlink.attribute(1, b"x"))
    )
    assert len(data) % 4 == 0
    found = dict(nfnetlink.attributes(data))
    assert found[1] == b"name\0"
    assert found[2] == b"\x01\x02\x03\x04"
    assert dict(nfnetlink.attributes(found[3])) == {1: b"x"}


def test_a_damaged_attribute_ends_the_walk_instead_of_never_ending_it() -> None:
    assert list(nfnetlink.attributes(struct.pack("=HH", 0, 1) + b"\0\0\0\0")) == [(1, b""), (0, b"")]
