"""How the nftables mode tells Pods from strangers: every way of detection, with real packets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from fairway.proxy.settings import LocalDetection

from .proxy_nodes import SETTINGS, Fleet
from .topology import Network, network, tcp

VIP, VIP6 = "10.96.0.80", "fd00:96::80"
TARGET, NODE_PORT = 9376, 30061

WAYS = {
    "ClusterCIDR": {},
    "NodeCIDR": {"detection": LocalDetection.NODE_CIDR},
    "BridgeInterface": {
        "detection": LocalDetection.BRIDGE_INTERFACE,
        "pod_interface": "pods0",
        "cluster_cidrs": (),
    },
    "InterfaceNamePrefix": {
        "detection": LocalDetection.INTERFACE_NAME_PREFIX,
        "pod_interface": "pod",
        "cluster_cidrs": (),
    },
}


@pytest.fixture(scope="module")
def net() -> Iterator[Network]:
    with network() as built:
        for _ in range(2):
            node = built.add_node()
            built.add_pod(node, f"web-{node.number}", TARGET)
        yield built


@pytest.fixture(scope="module")
def proxies(net: Network) -> Iterator[Fleet]:
    fleet = Fleet(net)
    yield fleet
    fleet.close()


@pytest.fixture(params=WAYS)
def fleet(proxies: Fleet, request: pytest.FixtureRequest) -> Iterator[Fleet]:
    """With a Service whose only endpoint is on the second node."""
    configure(proxies, **WAYS[request.param])
    yield proxies
    proxies.reset()


def configure(fleet: Fleet, **changes: Any) -> None:
    for proxy in fleet.proxies:
        number = proxy.node.number
        own = (f"10.244.{number}.0/24", f"fd00:244:{number}::/64")
        by_node = changes.get("detection") is LocalDetection.NODE_CIDR
        proxy.restart(replace(SETTINGS, **({"cluster_cidrs": own} if by_node else {}), **changes))


def web(net: Network, fleet: Fleet, **more: Any) -> None:
    port = {"port": 80, "targetPort": TARGET, "nodePort": NODE_PORT}
    spec = {"type": "NodePort", "clusterIP": VIP, "clusterIPs": [VIP, VIP6], "ports": [port]}
    fleet.put("web", spec | more)
    fleet.endpoints("web", [net.nodes[1].pods[0]], TARGET)


@pytest.mark.parametrize("six", [False, True], ids=["IPv4", "IPv6"])
def test_pods_keep_their_addresses_and_strangers_are_masqueraded(
    net: Network, fleet: Fleet, six: bool
) -> None:
    web(net, fleet)
    pod, node, vip = net.nodes[0].pods[0], net.nodes[0], VIP6 if six else VIP
    assert tcp(pod.namespace, vip, 80) == f"web-2 {pod.ip6 if six else pod.ip}"
    assert tcp(net.client, vip, 80) == f"web-2 {node.ip6 if six else node.ip}"
    assert tcp(node.namespace, vip, 80).split()[0] == "web-2"


def test_only_pods_get_around_external_policy_local(net: Network, fleet: Fleet) -> None:
    web(net, fleet, externalTrafficPolicy="Local")
    pod, node = net.nodes[0].pods[0], net.nodes[0]
    assert tcp(pod.namespace, node.ip, NODE_PORT).split()[0] == "web-2"
    with net.client.socket() as stranger:
        stranger.settimeout(1)
        with pytest.raises(TimeoutError):
            stranger.connect((node.ip, NODE_PORT))


@pytest.mark.parametrize("six", [False, True], ids=["IPv4", "IPv6"])
def test_masquerade_all_hides_pods_too(net: Network, proxies: Fleet, six: bool) -> None:
    configure(proxies, masquerade_all=True)
    web(net, proxies)
    pod, node = net.nodes[0].pods[0], net.nodes[0]
    assert tcp(pod.namespace, VIP6 if six else VIP, 80) == f"web-2 {node.ip6 if six else node.ip}"
    proxies.reset()


def test_another_bit_of_the_mark_masquerades_as_well(net: Network, proxies: Fleet) -> None:
    configure(proxies, masquerade_bit=3)
    web(net, proxies)
    assert tcp(net.client, VIP, 80) == f"web-2 {net.nodes[0].ip}"
    assert "0x00000008" in net.nodes[0].namespace.command(
        "nft", "list", "chain", "ip", "fairway-proxy", "mark-masquerade"
    )
    proxies.reset()
