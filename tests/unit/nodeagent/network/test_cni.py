"""What CNI plugins are told, and how their answers are read."""

from __future__ import annotations

import json

import pytest

from fairway.nodeagent.network.cni import (
    Attachment,
    CniError,
    Network,
    address_in,
    environment,
    parse_answer,
    parse_network,
    request,
    result_for_the_end,
)
from fairway.nodeagent.network.host_ports import HostPort

BRIDGE = {"type": "bridge", "bridge": "cni0"}
PORTMAP = {"type": "portmap", "capabilities": {"portMappings": True}}
PORTS = (HostPort(8080, "tcp", 80), HostPort(53, "udp", 53, "127.0.0.1"))


def attachment(version: str = "1.0.0") -> Attachment:
    network = Network("pods", version, (BRIDGE, PORTMAP))
    return Attachment(network, "uid-1", "/run/netns/x", "default", "web", PORTS, {"ips": []})


def test_a_list_of_plugins_and_a_single_one_are_both_networks() -> None:
    listed = parse_network(
        json.dumps({"name": "n", "cniVersion": "1.0.0", "plugins": [BRIDGE]}).encode(), True
    )
    assert (listed.name, listed.cni_version, listed.plugins) == ("n", "1.0.0", (BRIDGE,))
    alone = parse_network(json.dumps({"name": "n", "cniVersion": "0.4.0", **BRIDGE}).encode(), False)
    assert (alone.name, alone.cni_version) == ("n", "0.4.0")
    assert [plugin["type"] for plugin in alone.plugins] == ["bridge"]


@pytest.mark.parametrize(
    "text", [b"{", b"{}", b'{"name": "n", "plugins": []}', b'{"plugins": [{"type": "a"}]}']
)
def test_a_configuration_that_says_too_little_is_refused(text: bytes) -> None:
    with pytest.raises(CniError):
        parse_network(text, True)


def test_a_plugin_is_told_the_networks_name_and_what_the_one_before_it_did() -> None:
    told = json.loads(request(attachment(), BRIDGE, {"ips": [{"address": "10.0.0.2/24"}]}))
    assert told == {
        **BRIDGE,
        "name": "pods",
        "cniVersion": "1.0.0",
        "prevResult": {"ips": [{"address": "10.0.0.2/24"}]},
    }
    assert "prevResult" not in json.loads(request(attachment(), BRIDGE, None))


def test_only_a_plugin_that_opens_ports_is_told_of_them() -> None:
    told = json.loads(request(attachment(), PORTMAP, None))
    assert told["runtimeConfig"]["portMappings"] == [
        {"hostPort": 8080, "containerPort": 80, "protocol": "tcp"},
        {"hostPort": 53, "containerPort": 53, "protocol": "udp", "hostIP": "127.0.0.1"},
    ]
    assert "runtimeConfig" not in json.loads(request(attachment(), BRIDGE, None))


def test_the_environment_names_the_pod() -> None:
    seen = environment(attachment(), "ADD", ["/opt/cni/bin", "/usr/lib/cni"])
    assert seen["CNI_COMMAND"] == "ADD"
    assert seen["CNI_CONTAINERID"] == "uid-1"
    assert seen["CNI_NETNS"] == "/run/netns/x"
    assert seen["CNI_IFNAME"] == "eth0"
    assert seen["CNI_PATH"] == "/opt/cni/bin:/usr/lib/cni"
    assert "K8S_POD_NAMESPACE=default;K8S_POD_NAME=web" in seen["CNI_ARGS"]


@pytest.mark.parametrize(("version", "told"), [("0.3.1", False), ("0.4.0", True), ("1.0.0", True)])
def test_the_end_is_told_of_the_beginning_from_the_version_that_says_so(version: str, told: bool) -> None:
    assert (result_for_the_end(attachment(version)) is not None) is told


def test_the_first_address_of_the_fourth_version_is_the_pods() -> None:
    assert address_in({"ips": [{"address": "fd00::2/64"}, {"address": "10.0.0.2/24"}]}) == "10.0.0.2"
    with pytest.raises(CniError, match="no IPv4 address"):
        address_in({})


def test_a_plugins_own_words_are_passed_on() -> None:
    said = json.dumps({"code": 11, "msg": "no way", "details": "the cable is out"}).encode()
    with pytest.raises(CniError, match="CNI plugin bridge: no way: the cable is out"):
        parse_answer("bridge", 1, said, b"")
    with pytest.raises(CniError, match="CNI plugin bridge: broken pipe"):
        parse_answer("bridge", 2, b"", b"broken pipe\n")
    assert parse_answer("bridge", 0, b"", b"") == {}
