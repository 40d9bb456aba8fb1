"""The node's own DNS address, on the fakes."""

from __future__ import annotations

from ipaddress import IPv4Interface

from fairway.dns.nodelocal import DEVICE, NodeLocal, rules
from fairway.kernel.fake_netlink import FakeNetlink
from fairway.kernel.fake_nftables import FakeNftables


def test_questions_and_answers_are_exempt_from_tracking() -> None:
    text = rules(["169.254.20.10", "10.96.0.10"], 53)
    own = "{ 169.254.20.10, 10.96.0.10 }"
    for protocol in ("udp", "tcp"):
        assert f"incoming ip daddr {own} {protocol} dport 53 notrack" in text
        assert f"outgoing ip daddr {own} {protocol} dport 53 notrack" in text
        assert f"outgoing ip saddr {own} {protocol} sport 53 notrack" in text


def test_the_address_comes_and_goes_and_may_be_stated_twice() -> None:
    netlink, nftables = FakeNetlink(), FakeNftables()
    own = NodeLocal(netlink, nftables, ["169.254.20.10"], 53)
    own.put()
    own.put()
    assert netlink.addresses(DEVICE) == [IPv4Interface("169.254.20.10/32")]
    assert nftables.query("list table inet fairway-dns")
    own.remove()
    assert netlink.link(DEVICE) is None
    own.remove()
