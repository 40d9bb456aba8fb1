"""Which rules follow from the configuration."""

from __future__ import annotations

import msgspec

from fairway.api.objects import Node
from fairway.proxy.config import Config, settings

NODE = msgspec.convert(
    {
        "metadata": {"name": "n1"},
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
