"""The nodes of the behaviour table with all its Services programmed, on fake kernels, ready for tracing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fairway.kernel.conntrack import FakeConntrack
from fairway.kernel.fake_iptables import FakeIptables
from fairway.kernel.fake_nftables import FakeNftables
from fairway.proxy.changes import Tracker
from fairway.proxy.iptables import applier as iptables
from fairway.proxy.nftables import applier as nftables
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place
from fairway.testing.ip_sets import IpSet
from fairway.testing.iptables_tracer import IptablesTracer
from fairway.testing.ipvs_tracer import IpvsTracer
from fairway.testing.nftables_tracer import NftablesTracer
from fairway.testing.userspace_tracer import UserspaceTracer
from tests.behaviour.places import CLUSTER_CIDRS, NODES, SERVICE_RANGES, ZONES, local_addresses
from tests.behaviour.services import SERVICES, service, slices
from tests.behaviour.traced import Tracer
from tests.unit.proxy.ipvs.node import Node as IpvsNode
from tests.unit.proxy.userspace.node import Node as UserspaceNode

SETTINGS = Settings(cluster_cidrs=CLUSTER_CIDRS, service_ranges=SERVICE_RANGES)


def tracers(mode: str, settings: Settings = SETTINGS) -> dict[str, Tracer]:
    return {node: MAKERS[mode](node, settings) for node in NODES}


def nftables_tracer(node: str, settings: Settings) -> NftablesTracer:
    kernel = FakeNftables()
    whole = nftables.Kernel(kernel, FakeConntrack(), lambda: local_addresses(node))
    nftables.Applier(whole, settings, node).synchronise(_everything(node).take())
    return NftablesTracer(kernel.tables, local_addresses(node))


def iptables_tracer(node: str, settings: Settings) -> IptablesTracer:
    kernel, own = FakeIptables(), NODES[node]
    whole = iptables.Kernel(
        kernel, FakeConntrack(), lambda: local_addresses(node), lambda name: "0", lambda name, value: None
    )
    known = replace(settings, node_ips=(own.v4, own.v6))
    iptables.Applier(whole, known).synchronise(_everything(node).take())
    return IptablesTracer(kernel.tables, local_addresses(node))


def ipvs_tracer(node: str, settings: Settings) -> IpvsTracer:
    own = NODES[node]
    made = IpvsNode(
        replace(settings, node_ips=(own.v4, own.v6)), node, local_addresses(node), _everything(node)
    )
    sets = {name: IpSet(kind, made.ipset.members[name]) for name, kind in made.ipset.kinds.items()}
    held = made.device.addresses()
    return IpvsTracer(made.iptables.tables, sets, made.ipvs.held(), held, local_addresses(node))


def userspace_tracer(node: str, settings: Settings) -> UserspaceTracer:
    made = UserspaceNode(settings, node, local_addresses(node))
    made.applier.synchronise(_everything(node).take())
    return UserspaceTracer(made.nft.tables, tuple(made.relays.served.values()), local_addresses(node))


MAKERS: dict[str, Callable[[str, Settings], Tracer]] = {
    "nftables": nftables_tracer,
    "iptables": iptables_tracer,
    "ipvs": ipvs_tracer,
    "userspace": userspace_tracer,
}


def _everything(node: str) -> Tracker:
    tracker = Tracker(Place(node, ZONES[node]))
    for given in SERVICES.values():
        made = service(given)
        tracker.service_changed(made.metadata.key, None, made)
        for view in slices(given):
            tracker.slice_changed(view.metadata.key, None, view)
    return tracker
