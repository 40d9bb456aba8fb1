"""ipset's messages as bytes, and rules as iptables' programs print and take them."""

from __future__ import annotations

import struct

import pytest

from fairway.kernel.fake_ipset import FakeIpset
from fairway.kernel.fake_iptables import FakeIptables, FakeIptablesRestore
from fairway.kernel.ipset import Entry, IpsetError, Kind, encode
from fairway.kernel.iptables import IptablesError
from fairway.kernel.iptables_restore import parse_save
from fairway.kernel.nfnetlink import attributes


def parts(entry: Entry) -> dict[int, bytes]:
    return dict(attributes(b"".join(encode(entry))))


def test_only_what_an_entry_has_is_sent() -> None:
    assert set(parts(Entry("10.96.0.80", "tcp", 80))) == {1, 4, 7}
    assert set(parts(Entry(port=30061))) == {4}
    assert set(parts(Entry("10.96.0.80"))) == {1}
    assert set(parts(Entry("10.96.0.80", "tcp", 80, "10.0.0.0/8"))) == {1, 4, 7, 20, 21}


def test_a_mark_goes_with_a_mask_of_all_bits() -> None:
    assert parts(Entry("10.96.0.80", "tcp", 80, mark=7))[27] == struct.pack(">II", 7, 0xFFFFFFFF)


def test_the_fake_knows_an_entry_by_all_but_its_mark() -> None:
    fake = FakeIpset()
    fake.create("s", Kind("hash:ip,port", 4, True))
    one = Entry("10.96.0.80", "tcp", 80, mark=1)
    fake.change("s", (), [one])
    fake.change("s", (), [one._replace(mark=2)])
    assert fake.entries("s") == {one._replace(mark=2)}
    fake.change("s", [one], ())
    assert fake.entries("s") == set()
    with pytest.raises(IpsetError):
        fake.change("other", (), [one])


def test_what_iptables_saves_is_read_without_counters() -> None:
    saved = (
        "# Generated\n*nat\n:PREROUTING ACCEPT [7:420]\n:KUBE-SERVICES - [0:0]\n-A PREROUTING -j X\nCOMMIT\n"
    )
    assert parse_save(saved) == {"nat": [":PREROUTING ACCEPT", ":KUBE-SERVICES -", "-A PREROUTING -j X"]}


def test_the_fake_takes_rules_as_they_are_restored() -> None:
    fake = FakeIptablesRestore(FakeIptables())
    before = fake.save(4)
    fake.restore(4, "*nat\n:A - [0:0]\n-A A -j ACCEPT\n-I PREROUTING -j A\nCOMMIT\n")
    added = {":A -", "-A A -j ACCEPT", "-A PREROUTING -j A"}
    assert set(fake.save(4)["nat"]) - set(before["nat"]) == added
    fake.restore(4, "*nat\n:A - [0:0]\n-D PREROUTING -j A\n-X A\nCOMMIT\n")
    assert fake.save(4) == before
    with pytest.raises(IptablesError):
        fake.restore(4, "*nat\n-D PREROUTING -j A\nCOMMIT\n")
