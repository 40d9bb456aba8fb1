"""Which rules follow from the configuration."""

from __future__ import annotations

import msgspec
import pytest

from fairway.api.objects import Node
from fairway.proxy.config import Config, ConfigError, check, settings
from fairway.proxy.settings import LocalDetection

NODE = msgspec.convert(
    {
        "metadata": {"name": "n1"},
        "spec": {"podCIDR": "10.244.1.0/24", "podCIDRs": ["10.244.1.0/24", "fd00:244:1::/64"]},
        "status": {
            "addresses": [
                {"type": "Hostname", "address": "n1"},
                {"type": "InternalIP", "address": "192.0.2.1"},
                {"type": "InternalIP", "address": "192.0.2.2"},
                {"type": "InternalIP", "address": "2001:db8::1"},
            ]
        },
    },
    Node,
)


def test_configured_service_ranges_win_over_those_of_the_server() -> None:
    assert settings(Config(), None, ["10.97.0.0/16", "10.96.0.0/16"]).service_ranges == (
        "10.96.0.0/16",
        "10.97.0.0/16",
    )
    named = Config(service_cluster_ip_range=("10.0.0.0/8",))
    assert settings(named, None, ["10.96.0.0/16"]).service_ranges == ("10.0.0.0/8",)


def test_primary_means_the_first_internal_address_of_each_family() -> None:
    config = Config(nodeport_addresses=("primary",))
    assert settings(config, NODE, []).nodeport_addresses == ("192.0.2.1", "2001:db8::1")


def test_primary_serves_nothing_while_the_node_is_unknown() -> None:
    config = Config(nodeport_addresses=("primary",))
    assert settings(config, None, []).nodeport_addresses == ("127.0.0.1/32", "::1/128")


def test_primary_can_stand_beside_ranges() -> None:
    config = Config(nodeport_addresses=("primary", "198.51.100.0/24"))
    expected = ("192.0.2.1", "2001:db8::1", "198.51.100.0/24")
    assert settings(config, NODE, []).nodeport_addresses == expected


def test_the_bind_address_is_the_nodes_own_in_its_family() -> None:
    config = Config(nodeport_addresses=("primary",), bind_address="192.0.2.99")
    assert settings(config, NODE, []).node_ips == ("192.0.2.99", "2001:db8::1")
    assert settings(config, NODE, []).nodeport_addresses == ("192.0.2.99", "2001:db8::1")
    assert settings(Config(bind_address="0.0.0.0"), NODE, []).node_ips == ("192.0.2.1", "2001:db8::1")


@pytest.mark.parametrize(
    ("mode", "ranges", "device"),
    [
        (LocalDetection.CLUSTER_CIDR, ("10.244.0.0/16",), ""),
        (LocalDetection.NODE_CIDR, ("10.244.1.0/24", "fd00:244:1::/64"), ""),
        (LocalDetection.BRIDGE_INTERFACE, (), "cbr0"),
        (LocalDetection.INTERFACE_NAME_PREFIX, (), "veth"),
    ],
)
def test_each_way_of_detection_has_what_it_needs(
    mode: LocalDetection, ranges: tuple[str, ...], device: str
) -> None:
    config = Config(
        cluster_cidr=("10.244.0.0/16",),
        detect_local_mode=mode,
        pod_bridge_interface="cbr0",
        pod_interface_name_prefix="veth",
    )
    found = settings(check(config), NODE, [])
    assert (found.detection, found.cluster_cidrs, found.pod_interface) == (mode, ranges, device)


def test_a_node_without_a_range_is_waited_for() -> None:
    config = Config(cluster_cidr=("10.244.0.0/16",), detect_local_mode=LocalDetection.NODE_CIDR)
    assert settings(config, None, []).cluster_cidrs == ()


@pytest.mark.parametrize("name", ['a"b', "a b", "x" * 16, "a;b", "a*"])
def test_a_device_whose_name_could_mean_something_in_a_rule_is_refused(name: str) -> None:
    config = Config(detect_local_mode=LocalDetection.BRIDGE_INTERFACE, pod_bridge_interface=name)
    with pytest.raises(ConfigError):
        check(config)


def test_everything_a_mode_may_be_told_comes_from_the_configuration() -> None:
    config = Config(
        masquerade_bit=3,
        iptables_style="classic",
        ipvs_scheduler="lc",
        ipvs_strict_arp=True,
        ipvs_exclude_cidrs=("192.0.2.0/24",),
        iptables_localhost_nodeports=False,
    )
    found = settings(config, None, [])
    assert (found.masquerade_mark, found.classic, found.scheduler, found.strict_arp) == (
        "0x8",
        True,
        "lc",
        True,
    )
    assert (found.excluded_cidrs, found.localhost_nodeports) == (("192.0.2.0/24",), False)
