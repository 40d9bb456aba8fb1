"""Session affinity with real connections: the same client, the same endpoint, while both are there."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from .proxy_nodes import Fleet
from .topology import TARGET, Network, Pod, network, tcp, udp
from .web_service import VIP, VIP6, name, spec


@pytest.fixture(scope="module")
def net() -> Iterator[Network]:
    with network() as built:
        node = built.add_node()
        for number in range(6):
            built.add_pod(node, f"web-{number}", TARGET)
        yield built


@pytest.fixture
def fleet(net: Network) -> Iterator[Fleet]:
    fleet = Fleet(net)
    yield fleet
    fleet.close()


def sticky(fleet: Fleet, chosen: list[Pod], seconds: int = 60, protocol: str = "TCP", **more: object) -> None:
    affinity = {
        "sessionAffinity": "ClientIP",
        "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": seconds}},
    }
    fleet.put("web", spec(protocol=protocol, **more) | affinity)
    fleet.endpoints("web", chosen, TARGET, protocol)


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_a_client_comes_back_to_the_same_endpoint(net: Network, fleet: Fleet, vip: str) -> None:
    sticky(fleet, net.pods)
    assert len({tcp(net.client, vip, 80) for _ in range(12)}) == 1


@pytest.mark.parametrize("vip", [VIP, VIP6])
def test_affinity_holds_for_udp(net: Network, fleet: Fleet, vip: str) -> None:
    sticky(fleet, net.pods, protocol="UDP")
    assert len({udp(net.client, vip, 80) for _ in range(12)}) == 1


def test_other_clients_are_spread(net: Network, fleet: Fleet) -> None:
    sticky(fleet, net.pods)
    clients = [f"172.30.96.{100 + number}" for number in range(40)]
    net.client.ip(*(f"addr replace {client}/24 dev eth0" for client in clients))
    assert len({name(tcp(net.client, VIP, 80, client)) for client in clients}) > 2


def test_affinity_holds_for_node_ports_whichever_address_of_the_node_is_used(
    net: Network, fleet: Fleet
) -> None:
    sticky(fleet, net.pods, type="NodePort", nodePort=30061)
    addresses = [net.nodes[0].ip, "10.244.1.1"]
    assert len({name(tcp(net.client, address, 30061)) for address in addresses * 6}) == 1


def test_only_the_clients_of_an_endpoint_that_goes_move_on_and_they_do_at_once(
    net: Network, fleet: Fleet
) -> None:
    sticky(fleet, net.pods)
    clients = [f"172.30.96.{150 + number}" for number in range(20)]
    net.client.ip(*(f"addr replace {client}/24 dev eth0" for client in clients))
    before = {client: name(tcp(net.client, VIP, 80, client)) for client in clients}
    gone = before[clients[0]]
    fleet.endpoints("web", [pod for pod in net.pods if pod.name != gone], TARGET)
    after = {client: name(tcp(net.client, VIP, 80, client)) for client in clients}
    assert gone not in after.values()
    assert all(after[client] == at for client, at in before.items() if at != gone)
    again = {client: name(tcp(net.client, VIP, 80, client)) for client in clients}
    assert again == after


def test_a_client_is_free_again_after_the_timeout_but_each_use_renews_it(net: Network, fleet: Fleet) -> None:
    sticky(fleet, net.pods, seconds=2)
    assert any(stays_by_renewals(net) for _ in range(10)), "the machine is too busy to come in time"
    seen = set()
    for _ in range(4):
        time.sleep(2.3)
        seen.add(tcp(net.client, VIP, 80))
    assert len(seen) > 1, "one chance in 216 that all four were the same"


def stays_by_renewals(net: Network) -> bool:
    """For longer than the two seconds. False if a use came too late to renew anything."""
    used = time.monotonic()
    first = tcp(net.client, VIP, 80)
    for _ in range(4):
        time.sleep(0.8)
        before = time.monotonic()
        again = tcp(net.client, VIP, 80)
        if time.monotonic() - used > 1.9:
            return False
        assert again == first
        used = before
    return True


def test_affinity_survives_a_restart_of_the_proxy(net: Network, fleet: Fleet) -> None:
    sticky(fleet, net.pods)
    first = tcp(net.client, VIP, 80)
    for _ in range(8):
        fleet.proxies[0].restart()
        assert tcp(net.client, VIP, 80) == first


def test_the_packet_priority_used_on_the_way_is_wiped(net: Network, fleet: Fleet) -> None:
    sticky(fleet, net.pods)
    node = net.nodes[0].namespace
    node.command(
        "nft",
        "-f",
        "-",
        text="""
        table inet watcher {
            counter dirty { }
            chain seen {
                type filter hook postrouting priority 0;
                meta priority >= f000:0 counter name dirty;
            }
        }
        """,
    )
    try:
        for vip in (VIP, VIP6):
            tcp(net.client, vip, 80)
            tcp(node, vip, 80)
        assert "packets 0 " in node.command("nft", "list", "counter", "inet", "watcher", "dirty")
    finally:
        node.command("nft", "delete", "table", "inet", "watcher")


def test_affinity_and_round_robin_go_together(net: Network, fleet: Fleet) -> None:
    fleet.settings(round_robin=True)
    sticky(fleet, net.pods[:3])
    clients = [f"172.30.96.{200 + number}" for number in range(3)]
    net.client.ip(*(f"addr replace {client}/24 dev eth0" for client in clients))
    first = [name(tcp(net.client, VIP, 80, client)) for client in clients]
    assert len(set(first)) == 3
    assert [name(tcp(net.client, VIP, 80, client)) for client in clients] == first


def test_external_policy_local_keeps_affinity_among_local_endpoints(net: Network, fleet: Fleet) -> None:
    sticky(fleet, net.pods, type="NodePort", nodePort=30061, externalTrafficPolicy="Local")
    answers = {tcp(net.client, net.nodes[0].ip, 30061) for _ in range(10)}
    assert len(answers) == 1
    assert answers.pop().split()[1] == net.client_ip
    inside = net.nodes[0].pods[0].namespace
    assert len({tcp(inside, net.nodes[0].ip, 30061) for _ in range(10)}) == 1
