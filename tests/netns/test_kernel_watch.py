"""What the kernel tells of changes to rules, and what can be seen of them without starting a program."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterator

import pytest

from fairway.kernel.nftables import LibNftables, TableWatch
from fairway.kernel.traces import traces

from .topology import Namespace


@pytest.fixture
def watch(space: Namespace) -> Iterator[TableWatch]:
    with contextlib.closing(space.run(lambda: TableWatch("fairway-proxy"))) as opened:
        yield opened


def test_changes_of_another_process_to_our_tables_are_told(space: Namespace, watch: TableWatch) -> None:
    assert not watch.was_touched()
    space.command("nft", "add", "table", "ip", "somebody")
    assert not watch.was_touched()
    for change in (
        ("add", "table", "ip6", "fairway-proxy"),
        ("add", "chain", "ip6", "fairway-proxy", "c"),
        ("add", "rule", "ip6", "fairway-proxy", "c", "drop"),
        ("flush", "ruleset"),
    ):
        space.command("nft", *change)
        assert select.select([watch], [], [], 30)[0]
        assert watch.was_touched()
        assert not watch.was_touched()


def test_our_own_changes_are_not_told(space: Namespace, watch: TableWatch) -> None:
    with contextlib.closing(space.run(LibNftables)) as nftables:
        nftables.run("add table ip fairway-proxy\nadd chain ip fairway-proxy c\n")
        assert not watch.was_touched()


def test_too_many_changes_to_be_told_count_as_a_change_and_the_next_ones_are_told_again(
    space: Namespace, watch: TableWatch
) -> None:
    with contextlib.closing(space.run(LibNftables)) as nftables:
        nftables.run("add table ip fairway-proxy\nadd set ip fairway-proxy s { type ipv4_addr; }\n")
        assert not watch.was_touched()
        many = ", ".join(f"10.0.{n >> 8}.{n & 255}" for n in range(20000))
        nftables.run(f"add element ip fairway-proxy s {{ {many} }}\n")
        assert watch.was_touched()
        nftables.run("add chain ip fairway-proxy c\n")
        watch.was_touched()
        nftables.run("add chain ip fairway-proxy d\n")
        assert not watch.was_touched()
        space.command("nft", "delete", "chain", "ip", "fairway-proxy", "c")
        assert watch.was_touched()


def test_a_pause_hears_nothing_and_after_it_changes_are_told_again(
    space: Namespace, watch: TableWatch
) -> None:
    with watch.paused():
        space.command("nft", "add", "table", "ip", "fairway-proxy")
    assert not watch.was_touched()
    space.command("nft", "add", "chain", "ip", "fairway-proxy", "c")
    assert watch.was_touched()


def test_traces_of_all_packet_filters_are_seen(space: Namespace) -> None:
    assert space.run(traces).chains == frozenset()
    space.command("nft", "add", "table", "ip", "fairway-proxy")
    space.command("iptables", "-t", "nat", "-N", "KUBE-SERVICES")
    space.ip("link add kube-ipvs0 type bridge")
    found = space.run(traces)
    assert "fairway-proxy" in found.tables
    assert "KUBE-SERVICES" in found.chains
    assert {"lo", "kube-ipvs0"} <= found.devices
