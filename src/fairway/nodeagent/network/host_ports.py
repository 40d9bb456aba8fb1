"""Ports of the node that lead to a Pod (`hostPort`): which a Pod asks for, clashes, and their rules. Pure.

Whatever their number, there are as many rules; each port is an element of a map.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from fairway.nodeagent.objects import Pod

_ANY = ("", "0.0.0.0")


class HostPort(msgspec.Struct, frozen=True):
    """`address` is empty for every address of the node, 127.0.0.1 among them."""

    port: int
    protocol: str
    container_port: int
    address: str = ""


def wanted_by(pod: Pod) -> tuple[HostPort, ...]:
    """None in the node's own network, where containers listen themselves; only IPv4, as Pods have it."""
    if pod.spec.host_network:
        return ()
    everyone = [*(pod.spec.init_containers or ()), *pod.spec.containers]
    ports = [port for container in everyone for port in container.ports or () if port.host_port]
    return tuple(
        HostPort(p.host_port, p.protocol.lower(), p.container_port, "" if p.host_ip in _ANY else p.host_ip)
        for p in ports
        if ":" not in p.host_ip
    )


def clashing(wanted: Iterable[HostPort], taken: Iterable[HostPort]) -> HostPort | None:
    """The first that can't be had, because someone has it on the same address or on all."""
    held = list(taken)
    for mine in wanted:
        for other in held:
            same = (mine.port, mine.protocol) == (other.port, other.protocol)
            if same and (not mine.address or not other.address or mine.address == other.address):
                return mine
    return None


def changed_udp_ports(
    before: Mapping[str, Iterable[HostPort]], after: Mapping[str, Iterable[HostPort]]
) -> set[int]:
    """Those that lead elsewhere now, or nowhere."""

    def entries(ports: Mapping[str, Iterable[HostPort]]) -> set[tuple[str, HostPort]]:
        return {(pod, port) for pod, mine in ports.items() for port in mine if port.protocol == "udp"}

    return {port.port for _, port in entries(before) ^ entries(after)}


def declarations(ports: Mapping[str, Iterable[HostPort]], bridge: str) -> str:
    """For the node's table. `ports` are by the Pod's address.

    Connections from the node's loopback need an address that the Pod can answer to, and so do those of a Pod
    to itself. To make the former possible at all the bridge may carry loopback addresses (`route_localnet`);
    the guard sees to it that no Pod makes use of that to reach what listens on the node's loopback.
    """
    pairs = [(pod, port) for pod, mine in sorted(ports.items()) for port in mine]
    anywhere = [f"{p.protocol} . {p.port} : {pod} . {p.container_port}" for pod, p in pairs if not p.address]
    on_address = [
        f"{p.address} . {p.protocol} . {p.port} : {pod} . {p.container_port}" for pod, p in pairs if p.address
    ]
    hairpin = sorted({f"{pod} . {pod}" for pod, _ in pairs})
    return f"""\
    map host-ports {{
        type inet_proto . inet_service : ipv4_addr . inet_service
        {_elements(anywhere)}
    }}
    map host-ports-on-address {{
        type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service
        {_elements(on_address)}
    }}
    set hairpin {{
        type ipv4_addr . ipv4_addr
        {_elements(hairpin)}
    }}
    chain host-ports-choice {{
        dnat ip to ip daddr . meta l4proto . th dport map @host-ports-on-address
        dnat ip to meta l4proto . th dport map @host-ports
    }}
    chain host-ports-prerouting {{
        type nat hook prerouting priority dstnat + 5; policy accept;
        fib daddr type local jump host-ports-choice
    }}
    chain host-ports-output {{
        type nat hook output priority -95; policy accept;
        fib daddr type local jump host-ports-choice
    }}
    chain host-ports-postrouting {{
        type nat hook postrouting priority srcnat; policy accept;
        oifname "{bridge}" ip saddr 127.0.0.0/8 masquerade
        ip saddr . ip daddr @hairpin masquerade
    }}
    chain loopback-guard {{
        type filter hook prerouting priority raw; policy accept;
        iifname "{bridge}" ip daddr 127.0.0.0/8 drop
    }}
"""


def _elements(elements: list[str]) -> str:
    return f"elements = {{ {', '.join(elements)} }}" if elements else ""
