"""Connections and bytes of Services, as IPVS counts them."""

from __future__ import annotations

import re

from tests.netns.topology import Network, Node, tcp
from tests.netns.web_service import VIP, VIP6, web

from .ipvs_nodes import IpvsFleet
from .web_service import eventually


def served(fleet: IpvsFleet) -> dict[str, float]:
    """On the first node: connections, and bytes by direction."""
    figures = fleet.proxies[0].applier.count_services()()
    return {dict(f.labels).get("direction", "connections"): f.value for f in figures}


def more(fleet: IpvsFleet, before: dict[str, float]) -> dict[str, float]:
    return {what: value - before.get(what, 0) for what, value in served(fleet).items()}


def check_connections_and_bytes_are_counted_as_ipvsadm_shows_them(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, net.pods[:2], type="NodePort", nodePort=30061, externalTrafficPolicy="Local")
    first, inside = net.nodes[0], net.nodes[0].pods[1].namespace
    before = served(fleet)
    for where, address, port in (
        (inside, VIP, 80),
        (inside, VIP6, 80),
        (first.namespace, VIP, 80),
        (net.client, first.ip, 30061),
        # By a mark, as policy Local is not for clients inside.
        (inside, first.ip, 30061),
    ):
        tcp(where, address, port)
    # The kernel brings its figures up to date every two seconds.
    eventually(
        lambda: ipvsadm_stats(first)["connections"] == 5 and more(fleet, before) == ipvsadm_stats(first)
    )
    assert more(fleet, before)["out"] > 5 * len("web-1a 10.244.1.1")


def ipvsadm_stats(node: Node) -> dict[str, float]:
    """The sum over all virtual servers; columns are connections, packets in and out, bytes in and out."""
    shown = node.namespace.command("ipvsadm", "-ln", "--stats", "--exact").splitlines()
    rows = [line.split()[-5:] for line in shown if re.match(r"(TCP|FWM) ", line)]
    columns = {"connections": 0, "in": 3, "out": 4}
    return {what: sum(int(row[column]) for row in rows) for what, column in columns.items()}


def check_counters_go_on_when_a_service_is_programmed_anew(net: Network, fleet: IpvsFleet) -> None:
    client = net.nodes[0].pods[1].namespace
    web(fleet, net.pods[:1])
    start = served(fleet).get("connections", 0)
    tcp(client, VIP, 80)
    eventually(lambda: served(fleet).get("connections", 0) == start + 1)
    before = served(fleet)
    for chosen in (net.pods[:2], [], net.pods[:1]):
        web(fleet, chosen)
        # Bytes of the connection's last packets may have been added since.
        assert served(fleet)["connections"] == start + 1
        assert all(value >= before[what] for what, value in served(fleet).items())
    tcp(client, VIP, 80)
    eventually(lambda: served(fleet)["connections"] == start + 2)
    assert served(fleet)["in"] > before["in"]
