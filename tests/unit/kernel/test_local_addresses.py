"""The kernel's own tables of addresses."""

from __future__ import annotations

from fairway.kernel.local_addresses import parse_fib_trie, parse_if_inet6

TRIE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.0.0.0/24 2 0 1
        |-- 10.0.0.0
           /24 link UNICAST
        |-- 10.0.0.2
           /32 host LOCAL
        |-- 10.0.0.255
           /32 link BROADCAST
     |-- 127.0.0.1
        /32 host LOCAL
"""


def test_local_ipv4_addresses_are_found_and_broadcasts_are_not() -> None:
    assert parse_fib_trie(TRIE) == {"10.0.0.2", "127.0.0.1"}


def test_local_ipv6_addresses_are_found() -> None:
    line = "fd000030000000000000000000000011 02 40 00 80     eth0\n"
    assert parse_if_inet6(line) == {"fd00:30::11"}
    assert parse_if_inet6("") == frozenset()
