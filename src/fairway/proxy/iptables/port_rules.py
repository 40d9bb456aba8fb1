"""What one Service port is in iptables: the chains of its own, and its rules in the chains that all share.

A pure function of one Service port and the style. The chains that don't depend on Services are in `fixed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from fairway.proxy.changes import PortState
from fairway.proxy.iptables import names
from fairway.proxy.iptables.names import EXTERNAL, MARK_DROP, MARK_MASQ, NODEPORTS, PROXY_FIREWALL, SERVICES
from fairway.proxy.iptables.style import Style, comment, probability
from fairway.proxy.model import Endpoint, ServicePort

Rules = tuple[str, ...]


class Spot(NamedTuple):
    """A place in a chain that all Service ports share."""

    table: str
    chain: str
    rank: int = 0
    """Rules of a lower rank come first: a cluster IP wins over anyone who lists it as an external IP.

    Where it isn't 0, several Services may list the same address: they come in the order of their names.
    """


CLUSTER_IPS, OTHER_IPS = Spot("nat", SERVICES), Spot("nat", SERVICES, 1)
NODE_PORTS = Spot("nat", NODEPORTS)
REFUSED_INSIDE, REFUSED_OUTSIDE = Spot("filter", SERVICES), Spot("filter", EXTERNAL, 1)
HEALTH_CHECKS, FIREWALLED = Spot("filter", NODEPORTS), Spot("filter", PROXY_FIREWALL, 1)


class PortPlan(msgspec.Struct, frozen=True, gc=False):
    """Chains of its own, all in the table nat, and rules in shared ones."""

    chains: tuple[tuple[str, Rules], ...] = ()
    shared: tuple[tuple[Spot, Rules], ...] = ()


NOTHING = PortPlan()


def plan_port(state: PortState, style: Style) -> PortPlan:
    writer = _Writer(state, style)
    return PortPlan(tuple(writer.chains()), tuple((spot, rules) for spot, rules in writer.shared() if rules))


class _Writer:
    """Holds what the rules of one Service port have in common."""

    def __init__(self, state: PortState, style: Style) -> None:
        port, pools = state.port, state.pools
        self._port, self._style = port, style
        self._protocol = str(port.name.protocol)
        self._name = names.port_name(port.name, style.classic)
        self._chains = names.Chains(self._name, self._protocol)
        self._cluster, self._local = _sorted(pools.cluster), _sorted(pools.local)
        self._reachable = dict.fromkeys((*self._cluster, *self._local))
        self._any = pools.any
        self._inside = pools.any and (not port.internal_local or bool(self._local))
        self._outside = pools.any and (not port.external_local or bool(self._local))
        self._internal = self._chains.local if port.internal_local else self._chains.cluster
        self._guarded = self._any and bool(port.load_balancer_ips and port.listed_source_ranges)

    # -- rules in shared chains ------------------------------------------------------------------------

    def shared(self) -> Iterator[tuple[Spot, Rules]]:
        if self._style.classic:
            yield from self._classic_refusals()
        else:
            yield from self._refusals()
        if self._inside:
            yield CLUSTER_IPS, (f"{self._to(self._port.cluster_ip, 'cluster IP')} -j {self._internal}",)
        if self._any:
            yield OTHER_IPS, tuple(self._other_ips())
            if self._port.node_port:
                yield NODE_PORTS, (f"{self._to_node_port()} -j {self._chains.external}",)
        if self._port.health_check_node_port:
            text = comment(f"{self._name} health check node port")
            number = self._port.health_check_node_port
            yield HEALTH_CHECKS, (f"-p tcp {text} -m tcp --dport {number} -j ACCEPT",)

    def _other_ips(self) -> Iterator[str]:
        for ip in self._port.external_ips:
            yield f"{self._to(ip, 'external IP')} -j {self._chains.external}"
        target = self._chains.firewall if self._guarded else self._chains.external
        for ip in self._port.load_balancer_ips:
            yield f"{self._to(ip, 'loadbalancer IP')} -j {target}"

    def _refusals(self) -> Iterator[tuple[Spot, Rules]]:
        """In the table filter: what no endpoint is there for is refused, or dropped if others have one."""
        why, target = ("has no local endpoints", "DROP") if self._any else self._no_endpoints
        if not self._inside:
            yield REFUSED_INSIDE, (f"{self._to(self._port.cluster_ip, why)} -j {target}",)
        if not self._outside:
            yield REFUSED_OUTSIDE, tuple(f"{match} -j {target}" for match in self._all_external(why))
        if self._guarded:
            why = f"traffic not accepted by {self._chains.firewall}"
            yield FIREWALLED, tuple(f"{self._to(ip, why)} -j DROP" for ip in self._port.load_balancer_ips)

    @property
    def _no_endpoints(self) -> tuple[str, str]:
        return "has no endpoints", self._style.reject

    def _all_external(self, why: str) -> Iterator[str]:
        for ip in (*self._port.external_ips, *self._port.load_balancer_ips):
            yield self._to(ip, why)
        if self._port.node_port:
            text, local = comment(f"{self._name} {why}"), "-m addrtype --dst-type LOCAL"
            yield f"-p {self._protocol} {text} {local} -m {self._protocol} --dport {self._port.node_port}"

    def _classic_refusals(self) -> Iterator[tuple[Spot, Rules]]:
        """Marked in the table nat and dropped in filter. Policy Local is seen to in the chains themselves."""
        why = "has no local endpoints" if self._any else "has no endpoints"
        if not self._inside:
            yield CLUSTER_IPS, (f"{self._to(self._port.cluster_ip, why)} -j {MARK_DROP}",)
        if not self._any:
            addresses = (*self._port.external_ips, *self._port.load_balancer_ips)
            yield OTHER_IPS, tuple(f"{self._to(ip, why)} -j {MARK_DROP}" for ip in addresses)
            if self._port.node_port:
                yield NODE_PORTS, (f"{self._to_node_port(why)} -j {MARK_DROP}",)

    def _to(self, ip: str, what: str) -> str:
        """What matches a packet to one of the port's addresses."""
        text = comment(f"{self._name} {what}")
        destination = f"-d {self._style.host_range(ip)} -p {self._protocol}"
        return f"{destination} {text} -m {self._protocol} --dport {self._port.port}"

    def _to_node_port(self, why: str = "") -> str:
        text = comment(f"{self._name} {why}".rstrip())
        return f"-p {self._protocol} {text} -m {self._protocol} --dport {self._port.node_port}"

    # -- chains of its own -----------------------------------------------------------------------------

    def chains(self) -> Iterator[tuple[str, Rules]]:
        if self._any and self._port.external:
            yield self._chains.external, tuple(self._external())
        if self._guarded:
            yield self._chains.firewall, tuple(self._firewall())
        chosen = {text: self._chains.endpoint(text) for text in self._reachable}
        for chain, endpoints in ((self._chains.cluster, self._cluster), (self._chains.local, self._local)):
            if endpoints:
                yield chain, (*self._masquerade(chain), *self._choose({e: chosen[e] for e in endpoints}))
        for text, chain in chosen.items():
            yield chain, tuple(self._endpoint(text, chain))

    def _masquerade(self, chain: str) -> Iterator[str]:
        """Clients from outside the cluster may have come here by a route: the answer must pass here, too."""
        if chain != self._internal or not self._inside:
            return
        style, match = self._style, self._to(self._port.cluster_ip, "cluster IP")
        if style.settings.masquerade_all:
            yield f"{match} -j {MARK_MASQ}"
        elif style.local_source:
            yield f"! -s {style.local_source} {match} -j {MARK_MASQ}"
        elif style.local_interface:
            destination, rest = match.split(" -p ", 1)
            yield f"{destination} ! -i {style.local_interface} -p {rest} -j {MARK_MASQ}"

    def _external(self) -> Iterator[str]:
        destinations = f"traffic for {self._name} external destinations"
        cluster, policy = self._chains.cluster, self._chains.cluster
        if not self._port.external_local:
            yield f"{comment(f'masquerade {destinations}')} -j {MARK_MASQ}"
        else:
            policy = self._chains.local
            if self._style.tells_local:
                yield f"{self._from_inside()} {comment(f'pod {destinations}')} -j {cluster}"
            own = "-m addrtype --src-type LOCAL"
            yield f"{comment(f'masquerade LOCAL {destinations}')} {own} -j {MARK_MASQ}"
            yield f"{comment(f'route LOCAL {destinations}')} {own} -j {cluster}"
        if self._outside:
            yield f"-j {policy}"
        elif self._style.classic:
            yield f"{comment(f'{self._name} has no local endpoints')} -j {MARK_DROP}"

    def _from_inside(self) -> str:
        source, interface = self._style.local_source, self._style.local_interface
        return f"-s {source}" if source else f"-i {interface}"

    def _firewall(self) -> Iterator[str]:
        text, style = comment(f"{self._name} loadbalancer IP"), self._style
        for cidr in self._port.listed_source_ranges:
            yield f"-s {cidr} {text} -j {self._chains.external}"
        if style.includes_node(self._port.listed_source_ranges):
            # A node that holds the balancer's address itself sends from it.
            for ip in self._port.load_balancer_ips:
                yield f"-s {style.host_range(ip)} {text} -j {self._chains.external}"
        if style.classic:
            yield f"{text} -j {MARK_DROP}"
        else:
            yield comment(f"other traffic to {self._name} will be dropped by {PROXY_FIREWALL}")

    def _choose(self, endpoints: dict[str, str]) -> Iterator[str]:
        """One of these chains, all equally likely; clients that are tied to one are looked for first."""
        seconds, mask = self._port.affinity_seconds, self._style.whole_address
        if seconds:
            for text, chain in endpoints.items():
                tied = f"-m recent --rcheck --seconds {seconds} --reap --name {chain} --mask {mask} --rsource"
                yield f"{self._towards(text)}{tied} -j {chain}"
        left = len(endpoints)
        for text, chain in endpoints.items():
            chance = f"-m statistic --mode random --probability {probability(left)} " if left > 1 else ""
            yield f"{self._towards(text)}{chance}-j {chain}"
            left -= 1

    def _towards(self, endpoint: str) -> str:
        if self._style.brief:
            return ""
        return f"{comment(self._name if self._style.classic else f'{self._name} -> {endpoint}')} "

    def _endpoint(self, text: str, chain: str) -> Iterator[str]:
        remark = "" if self._style.brief else f"{comment(self._name)} "
        ip = self._reachable_ip(text)
        # An endpoint that reaches itself through its Service must not see its own address.
        yield f"-s {self._style.host_range(ip)} {remark}-j {MARK_MASQ}"
        remember = ""
        if self._port.affinity_seconds:
            remember = f"-m recent --set --name {chain} --mask {self._style.whole_address} --rsource "
        protocol = self._protocol
        yield f"-p {protocol} {remark}{remember}-m {protocol} -j DNAT --to-destination {text}"

    @staticmethod
    def _reachable_ip(text: str) -> str:
        return text.rsplit(":", 1)[0].strip("[]")


def _sorted(endpoints: Sequence[Endpoint]) -> tuple[str, ...]:
    """As text, and in the order of the text, as kube-proxy has them."""
    return tuple(sorted(names.endpoint_text(endpoint) for endpoint in endpoints))


def frontends(port: ServicePort) -> Iterator[tuple[str, int]]:
    """Every address and port that the Service port answers on; a node port's address is unspecified."""
    yield port.cluster_ip, port.port
    for ip in (*port.external_ips, *port.load_balancer_ips):
        yield ip, port.port
    if port.node_port:
        yield port.name.family.unspecified, port.node_port
