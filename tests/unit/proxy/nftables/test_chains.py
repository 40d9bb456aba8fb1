"""How Pods are told from strangers in rules."""

from __future__ import annotations

import pytest

from fairway.proxy.model import Family, Protocol
from fairway.proxy.nftables.chains import Choice, Reach
from fairway.proxy.settings import LocalDetection, Settings

CIDR = Settings(cluster_cidrs=("10.244.0.0/16",))
TWO = Settings(cluster_cidrs=("10.244.0.0/16", "10.245.0.0/16"))
BRIDGE = Settings(detection=LocalDetection.BRIDGE_INTERFACE, pod_interface="cbr0")
PREFIX = Settings(detection=LocalDetection.INTERFACE_NAME_PREFIX, pod_interface="veth")


@pytest.mark.parametrize(
    ("settings", "pods", "strangers"),
    [
        (CIDR, "ip saddr 10.244.0.0/16", "ip saddr != 10.244.0.0/16"),
        (TWO, "ip saddr { 10.244.0.0/16, 10.245.0.0/16 }", "ip saddr != { 10.244.0.0/16, 10.245.0.0/16 }"),
        (BRIDGE, 'iifname "cbr0"', 'iifname != "cbr0"'),
        (PREFIX, 'iifname "veth*"', 'iifname != "veth*"'),
    ],
)
def test_each_way_of_detection_has_its_match(settings: Settings, pods: str, strangers: str) -> None:
    cluster = Choice(Reach.CLUSTER, Protocol.TCP, 1).rules(Family.IPV4, settings)
    assert cluster[0] == f"{strangers} jump mark-masquerade"
    local = Choice(Reach.LOCAL, Protocol.TCP, 1).rules(Family.IPV4, settings)
    assert local[0] == f"{pods} ip daddr . meta l4proto . th dport vmap @internal"


def test_devices_serve_both_families_and_ranges_only_their_own() -> None:
    assert len(Choice(Reach.CLUSTER, Protocol.TCP, 1).rules(Family.IPV6, BRIDGE)) == 2
    assert len(Choice(Reach.CLUSTER, Protocol.TCP, 1).rules(Family.IPV6, CIDR)) == 1
