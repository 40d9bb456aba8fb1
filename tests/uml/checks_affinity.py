"""Session affinity: who comes back to where, and until when."""

from __future__ import annotations

import socket
import struct
import time

from tests.netns.topology import TARGET, Network, Pod, connect, tcp, udp
from tests.netns.web_service import VIP, VIP6, name, web

from .ipvs_nodes import IpvsFleet


def sticky(fleet: IpvsFleet, chosen: list[Pod], seconds: int, protocol: str = "TCP") -> None:
    config = {"clientIP": {"timeoutSeconds": seconds}}
    web(fleet, chosen, protocol, sessionAffinity="ClientIP", sessionAffinityConfig=config)


def check_a_client_comes_back_to_the_same_endpoint(net: Network, fleet: IpvsFleet) -> None:
    for ask, protocol in ((tcp, "TCP"), (udp, "UDP")):
        sticky(fleet, net.pods, 60, protocol)
        for vip in (VIP, VIP6):
            assert len({ask(net.client, vip, 80) for _ in range(8)}) == 1
        fleet.reset()


def check_other_clients_are_spread_and_all_stay_over_a_restart(net: Network, fleet: IpvsFleet) -> None:
    clients = [f"172.30.96.{100 + number}" for number in range(4)]
    net.client.ip(*(f"addr replace {client}/24 dev eth0" for client in clients))
    sticky(fleet, net.pods, 60)
    first = [name(tcp(net.client, VIP, 80, client)) for client in clients]
    assert len(set(first)) == 4
    fleet.proxies[0].restart()
    assert [name(tcp(net.client, VIP, 80, client)) for client in clients] == first


def check_a_client_moves_on_at_once_when_its_endpoint_goes(net: Network, fleet: IpvsFleet) -> None:
    sticky(fleet, net.pods, 60)
    gone = name(tcp(net.client, VIP, 80))
    fleet.endpoints("web", [pod for pod in net.pods if pod.name != gone], TARGET)
    moved = name(tcp(net.client, VIP, 80))
    assert moved != gone
    assert {name(tcp(net.client, VIP, 80)) for _ in range(5)} == {moved}


def check_a_client_is_free_again_after_the_timeout(net: Network, fleet: IpvsFleet) -> None:
    """A tie lasts at least as long as IPVS remembers a connection: 10 seconds for one that was reset.

    IPVS also remembers ties of Services that are gone, so this client is one that no other check has tied.
    """
    client = "172.30.96.110"
    net.client.ip(f"addr replace {client}/24 dev eth0")
    sticky(fleet, net.pods, 15)
    first = reset(net, client)
    assert reset(net, client) == first
    for pause in (18, 40, 100):
        time.sleep(pause)
        if reset(net, client) != first:
            return
    raise AssertionError("it never came free")


def reset(net: Network, client: str) -> str:
    """A connection that ends with a reset."""
    with connect(net.client, VIP, 80, client) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return connection.recv(100).decode()
