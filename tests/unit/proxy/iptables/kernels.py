"""A proxy in iptables mode over a kernel in memory, fed with objects."""

from __future__ import annotations

from fairway.api.objects import EndpointSlice, Service
from fairway.kernel.conntrack import FakeConntrack
from fairway.kernel.fake_iptables import FakeIptables
from fairway.proxy.changes import Tracker
from fairway.proxy.iptables.applier import Applier, Kernel
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place

SETTINGS = Settings(cluster_cidrs=("10.244.0.0/16",), node_ips=("192.0.2.1",))


class Node:
    def __init__(self, settings: Settings = SETTINGS) -> None:
        self.iptables, self.conntrack = FakeIptables(), FakeConntrack()
        self.addresses = {"192.0.2.1", "127.0.0.1", "::1"}
        self.sysctls = {"net/netfilter/nf_conntrack_tcp_be_liberal": "0"}
        self.now = 0.0
        self.kernel = Kernel(
            self.iptables,
            self.conntrack,
            lambda: frozenset(self.addresses),
            lambda name: self.sysctls[name],
            self.sysctls.__setitem__,
        )
        self.applier = Applier(self.kernel, settings, lambda: self.now)
        self.tracker = Tracker(Place("n1"))
        self._services: dict[str, Service] = {}
        self._slices: dict[str, EndpointSlice] = {}

    def put(self, view: Service) -> None:
        old = self._services.get(view.metadata.key)
        self._services[view.metadata.key] = view
        self.tracker.service_changed(view.metadata.key, old, view)

    def delete(self, name: str) -> None:
        old = self._services.pop(f"default/{name}", None)
        self.tracker.service_changed(f"default/{name}", old, None)

    def slice(self, view: EndpointSlice) -> None:
        old = self._slices.get(view.metadata.key)
        self._slices[view.metadata.key] = view
        self.tracker.slice_changed(view.metadata.key, old, view)

    def apply(self) -> list[str]:
        return self.applier.apply(self.tracker.take())

    def synchronise(self) -> None:
        self.applier.synchronise(self.tracker.take())

    def restart(self, settings: Settings | None = None) -> None:
        """A new process: nothing is remembered but what the kernel holds and the API tells."""
        self.applier = Applier(self.kernel, settings or self.applier.settings, lambda: self.now)
        self.tracker.all_changed()
        self.synchronise()

    def chain(self, name: str, table: str = "nat", version: int = 4) -> list[str]:
        return self.iptables.tables[version, table][name]

    def rules(self, version: int = 4) -> dict[tuple[str, str], list[str]]:
        """All there is; in chains that Services share, in no order."""
        found = {}
        for (owner, table), chains in self.iptables.tables.items():
            for chain, rules in chains.items() if owner == version else ():
                shared = chain in ("KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-EXTERNAL-SERVICES")
                found[table, chain] = sorted(rules) if shared else list(rules)
        return found
