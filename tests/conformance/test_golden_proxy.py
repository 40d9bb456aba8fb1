"""What kube-proxy in iptables mode wrote for given objects, ours writes, too: planned, and in a real kernel.

Cases that go another way on purpose are in docs/compatibility.md, with the reason.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairway.kernel import sysctl
from fairway.kernel.conntrack import FakeConntrack, KernelConntrack
from fairway.kernel.fake_iptables import FakeIptables
from fairway.kernel.iptables import NftIptables
from fairway.kernel.local_addresses import local_addresses
from fairway.proxy.changes import Tracker
from fairway.proxy.iptables.applier import Applier, Kernel
from tests.conformance.golden_cases import COMPATIBILITY
from tests.conformance.proxy_cases import (
    ADDRESSES,
    Case,
    cases,
    expected,
    feed,
    normaliser,
    settings,
    tracker,
)
from tests.conformance.replay_proxy import recorded_machine, replay
from tests.netns.topology import Namespace

DEVIATIONS = set(re.findall(r"^\| `proxy: ([\w.-]+)` \|", COMPATIBILITY.read_text(), re.MULTILINE))
CASES = [pytest.param(case, id=case["id"]) for case in cases() if case["id"] not in DEVIATIONS]


def applier(iptables: FakeIptables, case: Case) -> Applier:
    local = {*ADDRESSES, "127.0.0.1", "::1"}
    kernel = Kernel(iptables, FakeConntrack(), lambda: local, lambda name: "0", lambda name, value: None)
    return Applier(kernel, settings(case))


def check(case: Case, saved: dict[int, str]) -> None:
    for version, tables in expected(case):
        found = normaliser().normalise(saved[version])
        for table, rules in tables.items():
            assert found[table] == rules, f"IPv{version}, table {table}"


@pytest.mark.parametrize("case", CASES)
def test_planned_as_kube_proxy_wrote_it(case: Case) -> None:
    iptables = FakeIptables()
    applier(iptables, case).synchronise(tracker(case).take())
    check(case, {4: iptables.save(4), 6: iptables.save(6)})


@pytest.mark.parametrize("case", CASES)
def test_one_object_after_the_other_leads_to_the_same_rules(case: Case) -> None:
    iptables = FakeIptables()
    mode = applier(iptables, case)
    mode.synchronise({})
    following = Tracker(tracker(case).place)
    for manifest in random.Random(case["id"]).sample(case["objects"], len(case["objects"])):
        feed(following, manifest)
        mode.apply(following.take())
    check(case, {4: iptables.save(4), 6: iptables.save(6)})


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    with recorded_machine() as space:
        yield space


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("case", CASES)
def test_iptables_save_prints_what_it_printed_after_kube_proxy(case: Case, namespace: Namespace) -> None:
    def work() -> None:
        iptables, conntrack = NftIptables(), KernelConntrack()
        try:
            kernel = Kernel(iptables, conntrack, local_addresses, sysctl.read, sysctl.write)
            mode = Applier(kernel, settings(case))
            mode.synchronise(tracker(case).take())
            assert mode.is_intact()
        finally:
            iptables.close()
            conntrack.close()

    namespace.run(work)
    check(case, {4: namespace.command("iptables-save"), 6: namespace.command("ip6tables-save")})


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("name", ["dual-stack-cluster-cidr", "load-balancer-local"])
def test_the_command_fed_by_an_api_server_writes_the_same(name: str, tmp_path: Path) -> None:
    (case,) = (case for case in cases() if case["id"] == name)
    assert replay(case, tmp_path) == ""
