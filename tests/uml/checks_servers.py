"""Virtual servers, sets, rules and settings as administrators see them: their shape, number and removal."""

from __future__ import annotations

import re
import time

from fairway.kernel import sysctl
from fairway.proxy import modes
from fairway.proxy.settings import Settings
from tests.netns.proxy_nodes import SETTINGS
from tests.netns.topology import TARGET, Network, tcp
from tests.netns.web_service import VIP, VIP6, name, spec, web

from .ipvs_nodes import IpvsFleet
from .report import report
from .web_service import balanced, only_the_first


def check_ipvsadm_and_ip_show_what_the_documentation_shows(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, net.pods[:3])
    node = net.nodes[0].namespace
    listed = [line.split() for line in node.command("ipvsadm", "-ln").splitlines()]
    at = listed.index(["TCP", f"{VIP}:80", "rr"])
    servers = sorted(listed[at + 1 : at + 4])
    assert [line[:4] for line in servers] == [
        ["->", f"{pod.ip}:{TARGET}", "Masq", "1"] for pod in net.pods[:3]
    ]
    # Active and inactive connections: those of checks before this one may not have been forgotten yet.
    assert all(line[4].isdigit() and line[5].isdigit() for line in servers), servers
    shown = node.command("ip", "addr", "show", "kube-ipvs0")
    assert "kube-ipvs0: <BROADCAST,NOARP>" in shown, shown
    assert f"inet {VIP}/32 scope global kube-ipvs0" in shown, shown
    assert f"inet6 {VIP6}/128 scope global" in shown, shown
    members = node.command("ipset", "list", "KUBE-CLUSTER-IP")
    assert f"{VIP},tcp:80" in members, members
    fleet.put("web", spec(sessionAffinity="ClientIP"))
    assert f"TCP  {VIP}:80 rr persistent 10800" in node.command("ipvsadm", "-ln")


def check_every_scheduler_serves(net: Network, fleet: IpvsFleet) -> None:
    with only_the_first(fleet):
        web(fleet, net.nodes[0].pods)
        for scheduler in ("rr", "wrr", "lc", "wlc", "sh", "dh", "sed", "nq", "lblc", "lblcr", "mh"):
            fleet.settings(scheduler=scheduler)
            assert f"{VIP}:80 {scheduler}" in net.nodes[0].namespace.command("ipvsadm", "-ln")
            assert tcp(net.client, VIP, 80)
            assert fleet.proxies[0].applier.is_intact()


def check_the_mode_opens_where_it_is_asked_to_and_cleans_up_after_another_process(
    net: Network, fleet: IpvsFleet
) -> None:
    """As `fairway proxy` does it: everything in one thread of the node's namespace."""
    web(fleet, [net.nodes[0].pods[0]])
    modes.check_mode("ipvs")
    state = fleet.proxies[0].tracker
    state.all_changed()
    changes = state.take()

    def serve() -> None:
        with modes.opened("ipvs", SETTINGS, "node-1") as mode:
            mode.synchronise(changes)
            assert mode.is_intact()

    def remove() -> None:
        with modes.opened("ipvs", Settings(), "") as mode:
            mode.remove()

    space = net.nodes[0].namespace
    try:
        space.run(serve)
        assert name(tcp(net.client, VIP, 80)) == "web-1a"
        space.run(remove)
        assert space.command("ipvsadm", "-Sn") + space.command("ipset", "list", "-n") == ""
    finally:
        fleet.proxies[0].restart()


def rules(net: Network) -> int:
    node = net.nodes[0].namespace
    return sum(node.command(f"{program}-save").count("\n-A ") for program in ("iptables", "ip6tables"))


def check_a_thousand_services_need_no_more_rules_than_one(net: Network, fleet: IpvsFleet) -> None:
    web(fleet, net.pods)
    before, proxy = rules(net), fleet.proxies[0]
    began = time.monotonic()
    many(fleet, net, 1000)
    incremental = time.monotonic() - began
    assert rules(net) == before
    assert len(re.findall(r"^TCP +10\.97", net.nodes[0].namespace.command("ipvsadm", "-ln"), re.M)) == 1000
    client = net.nodes[1].pods[1].namespace
    assert name(tcp(net.nodes[0].pods[0].namespace, "10.97.3.231", 80)).startswith("web-")
    assert tcp(client, VIP, 80)
    proxy.clock.ahead += 1000
    began = time.monotonic()
    assert proxy.applier.is_intact()
    checked = time.monotonic() - began
    began = time.monotonic()
    proxy.restart()
    restarted = time.monotonic() - began
    proxy.applier.remove()
    began = time.monotonic()
    proxy.restart()
    report(
        measured={
            "each": incremental / 1000,
            "check": checked,
            "restart": restarted,
            "from nothing": time.monotonic() - began,
        }
    )


def many(fleet: IpvsFleet, net: Network, count: int) -> None:
    with only_the_first(fleet):
        for number in range(count):
            ip = f"10.97.{number >> 8}.{number & 255}"
            fleet.put(f"s{number}", spec() | {"clusterIP": ip, "clusterIPs": [ip]})
            fleet.endpoints(f"s{number}", net.nodes[0].pods, TARGET)


def check_removing_leaves_no_trace(net: Network, fleet: IpvsFleet) -> None:
    balanced(
        fleet,
        net.pods,
        nodePort=30061,
        externalTrafficPolicy="Local",
        loadBalancerSourceRanges=["10.0.0.0/8"],
    )
    node = net.nodes[0].namespace
    fleet.proxies[0].applier.remove()
    try:
        assert "kube-ipvs0" not in node.command("ip", "addr")
        assert node.command("ipvsadm", "-Sn") == ""
        assert node.command("ipset", "list", "-n") == ""
        for program in ("iptables-save", "ip6tables-save"):
            assert "KUBE" not in node.command(program)
        fleet.proxies[0].applier.remove()
    finally:
        fleet.proxies[0].restart()


def check_virtual_servers_in_excluded_ranges_are_left_alone(net: Network, fleet: IpvsFleet) -> None:
    node = net.nodes[0].namespace
    fleet.settings(excluded_cidrs=("198.51.100.0/24",))
    node.command("ipvsadm", "-A", "-t", "198.51.100.7:80", "-s", "rr")
    proxy = fleet.proxies[0]
    assert proxy.applier.is_intact()
    proxy.restart()
    assert "198.51.100.7:80" in node.command("ipvsadm", "-ln")
    proxy.applier.remove()
    assert "198.51.100.7:80" in node.command("ipvsadm", "-ln")
    node.command("ipvsadm", "-C")


def check_strict_arp_is_set_and_put_back(net: Network, fleet: IpvsFleet) -> None:
    node = net.nodes[0].namespace

    def arp() -> tuple[str, str]:
        both = ("net/ipv4/conf/all/arp_ignore", "net/ipv4/conf/all/arp_announce")
        return node.run(lambda: (sysctl.read(both[0]), sysctl.read(both[1])))

    before = arp()
    fleet.settings(strict_arp=True)
    assert arp() == ("1", "2")
    fleet.settings(strict_arp=False)
    assert arp() == before
