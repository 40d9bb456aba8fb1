"""Follows Services, their Pods and the nodes, and keeps the EndpointSlices of each Service up to date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairway.api.objects import EndpointSlice, Node, Pod, Service
from fairway.api.resources import ENDPOINT_SLICES, NODES, PODS, SERVICES
from fairway.controllers.backends import wants_endpoints
from fairway.controllers.cluster import Cluster
from fairway.controllers.endpointslice import hints
from fairway.controllers.endpointslice.plan import Topology, is_managed, plan, service_of
from fairway.controllers.loop import Loop
from fairway.controllers.selection import Selection
from fairway.controllers.triggertime import TriggerTimes

NAME = "endpointslice-controller"


class EndpointSliceController:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._services = cluster.cache(SERVICES, Service)
        self._nodes = cluster.cache(NODES, Node)
        slices = cluster.cache(ENDPOINT_SLICES, EndpointSlice)
        self._slices_of = slices.index(_services_of)
        self._selection = cluster.shared(Selection)
        self._triggers = TriggerTimes()
        self._zones: dict[str, str] = {}
        self._shares: Mapping[str, float] | None = None
        self._waiting: dict[str, set[str]] = {}  # node that is missing → Services with Pods on it
        self.loop = Loop(NAME, self.sync, workers=16)
        self._services.on_change(lambda key, _old, _new: self.loop.add(key))
        slices.on_change(self._slice_changed)
        self._nodes.on_change(self._node_changed)
        cluster.cache(PODS, Pod).on_change(self._pod_changed)

    async def sync(self, key: str) -> None:
        service = self._services.get(key)
        if service is None:
            # Its slices are the garbage collector's: each names its Service as owner.
            self._triggers.forget(key)
            return
        if not wants_endpoints(service):
            return
        pods = self._selection.pods_of(service)
        observed = self._triggers.observe(service, pods)
        topology = Topology(self._zones, self._shares)
        result = plan(service, pods, self._slices_of(key), topology, observed.trigger)
        for node in result.missing_nodes:
            self._waiting.setdefault(node, set()).add(key)
        await self._cluster.apply(result.plan.writes)
        self._triggers.written(service, observed)

    def _pod_changed(self, _key: str, old: Pod | None, new: Pod | None) -> None:
        for key in self._selection.affected_by(old, new):
            self.loop.add(key)

    def _slice_changed(self, _key: str, old: EndpointSlice | None, new: EndpointSlice | None) -> None:
        for item in (old, new):
            for key in _services_of(item) if item is not None else ():
                self.loop.add(key)

    def _node_changed(self, name: str, _old: Node | None, new: Node | None) -> None:
        """A zone that changes shows in the slices with their next change, as in Kubernetes: it is no event
        of the Service. A node that appears is: Pods on it were left out until now."""
        if new is None:
            self._zones.pop(name, None)
        else:
            self._zones[name] = new.metadata.label(hints.ZONE_LABEL)
            for key in self._waiting.pop(name, ()):
                self.loop.add(key)
        shares = hints.zone_shares(self._nodes)
        if shares != self._shares:
            self._shares = shares
            for service in self._services:
                if hints.is_automatic(service):
                    self.loop.add(service.metadata.key)


def _services_of(item: EndpointSlice) -> Iterator[str]:
    if is_managed(item) and (name := service_of(item)):
        yield f"{item.metadata.namespace}/{name}"
