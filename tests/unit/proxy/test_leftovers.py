"""Switching modes cleans up after the old one, and never fails the start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fairway.kernel.traces import Traces
from fairway.proxy import leftovers
from fairway.proxy.leftovers import after_programming, before_programming, has_left, remove_leftovers
from fairway.proxy.settings import Settings

ALL = ("nftables", "iptables", "ipvs", "userspace")


class Mode:
    def __init__(self, name: str, removed: list[str], failing: set[str]) -> None:
        self._name, self._removed, self._failing = name, removed, failing

    def remove(self) -> None:
        if self._name in self._failing:
            raise OSError("no such module")
        self._removed.append(self._name)


class Host:
    def __init__(self) -> None:
        self.removed: list[str] = []
        self.failing: set[str] = set()
        self.traces = Traces()


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    known = Host()

    @contextmanager
    def opened(name: str, settings: Settings, node: str) -> Iterator[Mode]:
        yield Mode(name, known.removed, known.failing)

    monkeypatch.setattr(leftovers, "MODES", ALL)
    monkeypatch.setattr(leftovers, "opened", opened)
    monkeypatch.setattr(leftovers, "traces", lambda: known.traces)
    return known


def test_where_nothing_is_left_no_other_mode_is_even_opened(host: Host) -> None:
    remove_leftovers(ALL)
    assert host.removed == []


def test_what_is_there_decides_what_is_removed(host: Host) -> None:
    host.traces = Traces(tables=frozenset({"fairway-proxy", "nat"}))
    remove_leftovers(("nftables", "iptables"))
    assert host.removed == ["nftables"]
    host.traces = Traces(chains=frozenset({"KUBE-SERVICES"}))
    remove_leftovers(("nftables", "iptables"))
    assert host.removed == ["nftables", "iptables"]


@pytest.mark.parametrize(
    ("mode", "traces", "expected"),
    [
        ("iptables", Traces(chains=frozenset({"KUBE-KUBELET-CANARY", "KUBE-FIREWALL", "PREROUTING"})), False),
        ("iptables", Traces(chains=frozenset({"KUBE-SVC-LAS23QA33HXV7KBL"})), True),
        ("iptables", Traces(legacy_tables=frozenset({"nat"})), True),
        ("ipvs", Traces(devices=frozenset({"lo", "kube-ipvs0"})), True),
        ("ipvs", Traces(chains=frozenset({"KUBE-SERVICES"})), False),
        ("iptables", Traces(devices=frozenset({"kube-ipvs0"})), False),
        ("userspace", Traces(tables=frozenset({"fairway-userspace"})), True),
        ("userspace", Traces(tables=frozenset({"fairway-proxy"})), False),
        ("nftables", Traces(tables=frozenset({"nat"})), False),
    ],
)
def test_traces_of_a_proxy_are_told_from_those_of_others(mode: str, traces: Traces, expected: bool) -> None:
    assert has_left(mode, traces) is expected


def test_a_mode_that_can_not_be_cleaned_up_is_no_reason_not_to_start(host: Host) -> None:
    host.traces = Traces(chains=frozenset({"KUBE-SERVICES"}), devices=frozenset({"kube-ipvs0"}))
    host.failing = {"iptables"}
    remove_leftovers(("iptables", "ipvs"))
    assert host.removed == ["ipvs"]


def test_modes_that_share_names_are_cleaned_before_and_others_only_once_the_new_one_serves(
    host: Host,
) -> None:
    assert before_programming("nftables") == ()
    assert after_programming("nftables") == ("iptables", "ipvs", "userspace")
    assert before_programming("ipvs") == ("iptables",)
    assert after_programming("ipvs") == ("nftables", "userspace")


def test_cleanup_tries_every_mode_and_tells_what_is_left_for_all_that(host: Host) -> None:
    host.failing = {"iptables"}
    host.traces = Traces(chains=frozenset({"KUBE-SERVICES"}))
    with pytest.raises(leftovers.CleanupFailed, match=r"left of iptables \(no such module\)"):
        leftovers.remove_rules()
    assert host.removed == ["nftables", "ipvs", "userspace"]


def test_cleanup_succeeds_where_a_mode_could_not_even_have_worked(host: Host) -> None:
    host.failing = {"ipvs"}
    leftovers.remove_rules()
    assert host.removed == ["nftables", "iptables", "userspace"]
