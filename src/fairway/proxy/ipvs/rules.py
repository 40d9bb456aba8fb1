"""The packet filter rules of this mode: the same for any number of Services, as those are in sets.

Text for iptables-restore, made for one address family at a time. IPVS chooses the endpoints; these rules only
say who is masqueraded, refused or dropped, and let clients inside the cluster around policy Local.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fairway.proxy.ipvs import sets
from fairway.proxy.ipvs.sets import full_name
from fairway.proxy.model import Family, Protocol
from fairway.proxy.settings import LocalDetection, Settings, in_family

Chains = Mapping[str, tuple[str, ...]]
# Bits for the marks of KUBE-INTERNAL, and where they are if the mark for masquerading is among them.
MARK_BITS = 14
_NEW = "-m conntrack --ctstate NEW"


class Hook(NamedTuple):
    """A jump from a built-in chain; `first` before what others have put there."""

    table: str
    chain: str
    target: str
    comment: str

    @property
    def rule(self) -> str:
        return f'{self.chain} -m comment --comment "{self.comment}" -j {self.target}'


HOOKS = (
    Hook("nat", "PREROUTING", "KUBE-SERVICES", "kubernetes service portals"),
    Hook("nat", "OUTPUT", "KUBE-SERVICES", "kubernetes service portals"),
    Hook("nat", "POSTROUTING", "KUBE-POSTROUTING", "kubernetes postrouting rules"),
    Hook("mangle", "PREROUTING", "KUBE-IPVS-INTERNAL", "kubernetes clients inside the cluster"),
    Hook("mangle", "OUTPUT", "KUBE-IPVS-OUT", "kubernetes ipvs access filter"),
    Hook("filter", "INPUT", "KUBE-PROXY-FIREWALL", "kube-proxy firewall rules"),
    Hook("filter", "INPUT", "KUBE-IPVS-FILTER", "kubernetes ipvs access filter"),
    Hook("filter", "FORWARD", "KUBE-FORWARD", "kubernetes forwarding rules"),
    Hook("filter", "FORWARD", "KUBE-IPVS-OUT-FILTER", "kubernetes ipvs access filter"),
    Hook("filter", "OUTPUT", "KUBE-IPVS-OUT-FILTER", "kubernetes ipvs access filter"),
)


def mark_shift(settings: Settings) -> int:
    return 0 if settings.masquerade_bit >= MARK_BITS else settings.masquerade_bit + 1


def tables(family: Family, settings: Settings) -> dict[str, Chains]:
    """All our chains with their rules, by table."""
    write = _Writer(family, settings)
    return {"nat": write.nat(), "mangle": write.mangle(), "filter": write.filter()}


class _Writer:
    def __init__(self, family: Family, settings: Settings) -> None:
        self._family, self._settings = family, settings

    def _in(self, name: str, directions: str = "dst,dst") -> str:
        return f"-m set --match-set {full_name(name, self._family)} {directions}"

    # -- who is masqueraded ----------------------------------------------------------------------------

    def nat(self) -> Chains:
        mark = self._settings.masquerade_mark
        return {
            "KUBE-SERVICES": tuple(self._services()),
            "KUBE-CLUSTER-IP": tuple(self._strangers()),
            "KUBE-LOAD-BALANCER": (
                f"{self._in(sets.LOAD_BALANCER_LOCAL)} -j RETURN",
                "-j KUBE-MARK-MASQ",
            ),
            "KUBE-NODE-PORT": tuple(self._node_ports()),
            "KUBE-MARK-MASQ": (f"-j MARK --or-mark {mark}",),
            "KUBE-POSTROUTING": tuple(self._postrouting(mark)),
        }

    def _services(self) -> Iterator[str]:
        yield f"-s {'127.0.0.0/8' if self._family is Family.IPV4 else '::1/128'} -j RETURN"
        yield f"{self._in(sets.LOAD_BALANCER)} -j KUBE-LOAD-BALANCER"
        yield f"{self._in(sets.CLUSTER_IP)} -j KUBE-CLUSTER-IP"
        yield f"{self._in(sets.EXTERNAL_IP)} -j KUBE-MARK-MASQ"
        yield "-m addrtype --dst-type LOCAL -j KUBE-NODE-PORT"
        for name in (sets.CLUSTER_IP, sets.LOAD_BALANCER):
            yield f"{self._in(name)} -j ACCEPT"

    def _strangers(self) -> Iterator[str]:
        """Replies to clients outside the cluster must come back through this node."""
        if not self._settings.masquerade_all:
            insiders = list(self._insiders())
            if not insiders:
                return
            for insider in insiders:
                yield f"{insider} -j RETURN"
        yield "-j KUBE-MARK-MASQ"

    def _insiders(self) -> Iterator[str]:
        """What tells the packets of Pods from those of others."""
        settings = self._settings
        if settings.detection is LocalDetection.BRIDGE_INTERFACE:
            yield f"-i {settings.pod_interface}"
        elif settings.detection is LocalDetection.INTERFACE_NAME_PREFIX:
            yield f"-i {settings.pod_interface}+"
        else:
            for cidr in in_family(settings.cluster_cidrs, self._family):
                yield f"-s {cidr}"

    def _node_ports(self) -> Iterator[str]:
        for protocol in Protocol:
            direction = "dst,dst" if protocol is Protocol.SCTP else "dst"
            local = self._in(sets.NODE_PORT_LOCAL[protocol], direction)
            every = self._in(sets.NODE_PORT[protocol], direction)
            yield f"-p {protocol} {local} -j RETURN"
            yield f"-p {protocol} {every} -j KUBE-MARK-MASQ"

    def _postrouting(self, mark: str) -> Iterator[str]:
        # An endpoint that reaches itself must see another address than its own, or it would answer itself.
        yield f"{self._in(sets.LOOP_BACK, 'dst,dst,src')} -j MASQUERADE"
        # The node's own connections to a virtual IP begin with that address, as the node holds it.
        yield f"! -o lo {self._in(sets.VIRTUAL_IPS, 'src')} -j MASQUERADE"
        yield f"-m mark ! --mark {mark}/{mark} -j RETURN"
        yield f"-j MARK --xor-mark {mark}"
        yield "-j MASQUERADE --random-fully"

    # -- before IPVS sees what the node itself sends, and marks for clients inside the cluster ---------

    def mangle(self) -> Chains:
        internal = self._in(sets.INTERNAL)
        mapped = f"-j SET --map-set {full_name(sets.INTERNAL, self._family)} dst,dst --map-mark"
        return {
            "KUBE-IPVS-INTERNAL": (f"{internal} -j KUBE-IPVS-MARK",),
            "KUBE-IPVS-MARK": (
                *(f"{insider} {mapped}" for insider in self._insiders()),
                f"-m addrtype --src-type LOCAL {mapped}",
            ),
            "KUBE-IPVS-OUT": (
                f"{internal} {mapped}",
                f"{self._in(sets.LOAD_BALANCER_FIREWALL)} -j KUBE-SOURCE-RANGES-FIREWALL",
                self._drop_where_no_local_endpoint(),
            ),
            "KUBE-SOURCE-RANGES-FIREWALL": self._source_ranges(),
        }

    def _drop_where_no_local_endpoint(self) -> str:
        mask = ((1 << MARK_BITS) - 1) << mark_shift(self._settings)
        return f"-m mark --mark 0x0/{mask:#x} {self._in(sets.NO_LOCAL_ENDPOINT)} {_NEW} -j DROP"

    def _source_ranges(self) -> tuple[str, ...]:
        return (
            f"{self._in(sets.SOURCE_RANGE, 'dst,dst,src')} -j RETURN",
            f"{self._in(sets.SOURCE_ADDRESS, 'dst,dst,src')} -j RETURN",
            "-j DROP",
        )

    # -- who is refused --------------------------------------------------------------------------------

    def filter(self) -> Chains:
        mark = self._settings.masquerade_mark
        return {
            "KUBE-PROXY-FIREWALL": (
                f"{self._in(sets.LOAD_BALANCER_FIREWALL)} -j KUBE-SOURCE-RANGES-FIREWALL",
            ),
            "KUBE-SOURCE-RANGES-FIREWALL": self._source_ranges(),
            "KUBE-IPVS-FILTER": tuple(self._refuse_unserved()),
            "KUBE-IPVS-OUT-FILTER": tuple(self._refuse_unused()),
            "KUBE-IPVS-REFUSE": (
                "-p tcp -j REJECT --reject-with tcp-reset",
                *(f"-p {protocol} -j REJECT" for protocol in (Protocol.UDP, Protocol.SCTP)),
            ),
            "KUBE-FORWARD": (
                f"-m mark --mark {mark}/{mark} -j ACCEPT",
                "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
            ),
        }

    def _refuse_unserved(self) -> Iterator[str]:
        """Ports of virtual IPs that no Service has. Only ping may reach the node itself there."""
        yield self._drop_where_no_local_endpoint()
        yield f"{self._in(sets.NO_ENDPOINT)} {_NEW} -j KUBE-IPVS-REFUSE"
        for name in (sets.CLUSTER_IP, sets.LOAD_BALANCER, sets.EXTERNAL_IP, sets.EXTERNAL_IP_LOCAL):
            yield f"{self._in(name)} -j RETURN"
        yield f"{self._in(sets.VIRTUAL_IPS, 'dst')} {_NEW} -j KUBE-IPVS-REFUSE"

    def _refuse_unused(self) -> Iterator[str]:
        """Virtual IPs that no Service has would travel in circles between routers."""
        for cidr in in_family(self._settings.service_ranges, self._family):
            yield f"-d {cidr} -m addrtype ! --dst-type LOCAL {_NEW} -j KUBE-IPVS-REFUSE"
