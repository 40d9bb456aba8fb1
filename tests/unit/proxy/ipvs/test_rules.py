"""The constant rules, as text."""

from __future__ import annotations

import re

import pytest

from fairway.proxy.ipvs import rules, sets
from fairway.proxy.model import Family
from fairway.proxy.settings import LocalDetection, Settings


def text(settings: Settings, family: Family = Family.IPV4) -> str:
    tables = rules.tables(family, settings)
    return "\n".join(
        f"{chain} {rule}" for chains in tables.values() for chain, body in chains.items() for rule in body
    )


@pytest.mark.parametrize("family", list(Family))
def test_rules_refer_only_to_sets_and_chains_that_exist(family: Family) -> None:
    settings = Settings(cluster_cidrs=("10.0.0.0/8", "fd00::/8"), service_ranges=("10.96.0.0/16",))
    names = {sets.full_name(name, family) for name in sets.TYPES}
    assert set(re.findall(r"-(?:match|map)-set (\S+)", text(settings, family))) <= names
    targets = {"ACCEPT", "DROP", "RETURN", "MARK", "MASQUERADE", "REJECT", "SET"}
    for table, chains in rules.tables(family, settings).items():
        jumps = {jump for body in chains.values() for rule in body for jump in re.findall(r"-j (\S+)", rule)}
        assert jumps <= chains.keys() | targets
        hooked = {hook.target for hook in rules.HOOKS if hook.table == table}
        assert hooked <= chains.keys()
        assert chains.keys() <= jumps | hooked, "a chain that nothing leads to"


def test_every_set_is_used_by_some_rule() -> None:
    used = set(re.findall(r"-(?:match|map)-set (\S+)", text(Settings())))
    assert used == set(sets.TYPES)


def test_names_fit_into_what_the_kernel_allows() -> None:
    for family in Family:
        assert all(len(sets.full_name(name, family)) <= 31 for name in sets.TYPES)
        assert len({sets.full_name(name, family) for name in sets.TYPES}) == len(sets.TYPES)
    assert all(
        len(chain) <= 28 for chains in rules.tables(Family.IPV4, Settings()).values() for chain in chains
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(), []),
        (Settings(masquerade_all=True), ["-j KUBE-MARK-MASQ"]),
        (
            Settings(cluster_cidrs=("10.244.0.0/16", "10.245.0.0/16", "fd00::/8")),
            ["-s 10.244.0.0/16 -j RETURN", "-s 10.245.0.0/16 -j RETURN", "-j KUBE-MARK-MASQ"],
        ),
        (
            Settings(detection=LocalDetection.BRIDGE_INTERFACE, pod_interface="cbr0"),
            ["-i cbr0 -j RETURN", "-j KUBE-MARK-MASQ"],
        ),
        (
            Settings(detection=LocalDetection.INTERFACE_NAME_PREFIX, pod_interface="veth"),
            ["-i veth+ -j RETURN", "-j KUBE-MARK-MASQ"],
        ),
    ],
)
def test_strangers_to_a_cluster_ip_are_masqueraded(settings: Settings, expected: list[str]) -> None:
    assert list(rules.tables(Family.IPV4, settings)["nat"]["KUBE-CLUSTER-IP"]) == expected


def test_the_mark_for_masquerading_can_be_chosen() -> None:
    assert "KUBE-MARK-MASQ -j MARK --or-mark 0x4000" in text(Settings())
    assert "KUBE-MARK-MASQ -j MARK --or-mark 0x20" in text(Settings(masquerade_bit=5))
