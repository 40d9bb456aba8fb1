"""Follows Services and their Pods and keeps the Endpoints object of each Service up to date."""

from __future__ import annotations

from fairway.api.objects import Endpoints, Pod, Service
from fairway.api.resources import ENDPOINTS, PODS, SERVICES
from fairway.controllers.backends import wants_endpoints
from fairway.controllers.cluster import Cluster
from fairway.controllers.endpoint.plan import is_managed, plan, plan_removal
from fairway.controllers.loop import Loop
from fairway.controllers.selection import Selection
from fairway.controllers.triggertime import TriggerTimes

NAME = "endpoints-controller"


class EndpointController:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._services = cluster.cache(SERVICES, Service)
        self._endpoints = cluster.cache(ENDPOINTS, Endpoints)
        self._selection = cluster.shared(Selection)
        self._triggers = TriggerTimes()
        self._bereft: set[str] = set()  # keys whose Service we saw go
        # Fewer than for slices: proxies and DNS read those, so they go first when there is much to do.
        self.loop = Loop(NAME, self.sync, workers=8)
        self._services.on_change(self._service_changed)
        self._endpoints.on_change(self._endpoints_changed)
        cluster.cache(PODS, Pod).on_change(self._pod_changed)

    async def sync(self, key: str) -> None:
        service, current = self._services.get(key), self._endpoints.get(key)
        if service is None:
            self._triggers.forget(key)
            # Endpoints that never had a Service are the user's, unless our label says otherwise.
            if current is not None and (key in self._bereft or is_managed(current)):
                await self._cluster.apply(plan_removal(current).writes)
            self._bereft.discard(key)
        elif wants_endpoints(service):
            pods = self._selection.pods_of(service)
            observed = self._triggers.observe(service, pods)
            await self._cluster.apply(plan(service, pods, current, observed.trigger).writes)
            self._triggers.written(service, observed)

    def _service_changed(self, key: str, _old: Service | None, new: Service | None) -> None:
        if new is None:
            self._bereft.add(key)
        else:
            self._bereft.discard(key)
        self.loop.add(key)

    def _endpoints_changed(self, key: str, old: Endpoints | None, new: Endpoints | None) -> None:
        """Deleted ones are made again, leftovers of Services deleted while we were away are removed.

        Edits by others are left alone until the next change of Service or Pods, as Kubernetes does.
        """
        if new is None or (old is None and is_managed(new)):
            self.loop.add(key)

    def _pod_changed(self, _key: str, old: Pod | None, new: Pod | None) -> None:
        for key in self._selection.affected_by(old, new):
            self.loop.add(key)
