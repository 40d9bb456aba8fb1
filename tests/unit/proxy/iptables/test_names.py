"""Chain names, as the documentation of Kubernetes and books about it print them."""

from __future__ import annotations

import pytest

from fairway.proxy.iptables.names import Chains, endpoint_text, is_of_a_port, port_name
from fairway.proxy.model import Endpoint, Family, Protocol, ServicePortName


def name(service: str, port: str = "") -> ServicePortName:
    return ServicePortName("default", service, port, Protocol.TCP, Family.IPV4)


def test_a_named_port_has_the_name_that_kube_proxy_gives_it() -> None:
    assert Chains(port_name(name("es1", "http")), "tcp").cluster == "KUBE-SVC-LAS23QA33HXV7KBL"


def test_in_classic_style_an_unnamed_port_keeps_its_colon() -> None:
    chains = Chains(port_name(name("hostnames"), classic=True), "tcp")
    assert chains.cluster == "KUBE-SVC-NWV5X2332I4OT4T3"
    assert chains.endpoint("10.244.3.6:9376") == "KUBE-SEP-57KPRZ3JQVENLNBR"


def test_today_an_unnamed_port_is_called_as_its_service() -> None:
    assert port_name(name("hostnames")) == "default/hostnames"
    assert port_name(name("hostnames", "web")) == port_name(name("hostnames", "web"), True)


def test_a_name_cannot_break_out_of_a_rules_comment() -> None:
    assert port_name(name('web" -j ACCEPT\n-F')) == "default/web??-j?ACCEPT?-F"


def test_all_chains_of_a_port_share_their_ending() -> None:
    chains = Chains("default/web", "tcp")
    every = (chains.cluster, chains.local, chains.external, chains.firewall)
    assert {chain[-16:] for chain in every} == {"LOLE4ISW44XBNF3G"}
    assert [chain[:-16] for chain in every] == ["KUBE-SVC-", "KUBE-SVL-", "KUBE-EXT-", "KUBE-FW-"]
    assert all(len(chain) <= 28 for chain in every)


def test_ipv6_endpoints_are_written_in_brackets() -> None:
    assert endpoint_text(Endpoint("fd00::5", 80)) == "[fd00::5]:80"


@pytest.mark.parametrize(
    "chain",
    [
        "KUBE-SERVICES",
        "KUBE-KUBELET-CANARY",
        "KUBE-SVC-lowercaseletters",
        "KUBE-SVC-ABC",
        "XKUBE-SEP-" + "A" * 16,
    ],
)
def test_chains_of_others_are_not_taken_for_those_of_ports(chain: str) -> None:
    assert not is_of_a_port(chain)
    assert is_of_a_port("KUBE-SEP-57KPRZ3JQVENLNBR")
