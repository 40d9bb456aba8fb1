"""Follows hand-made Endpoints and their Services and keeps the mirroring slices up to date."""

from __future__ import annotations

from collections.abc import Iterator

from fairway.api.objects import Endpoints, EndpointSlice, Service
from fairway.api.resources import ENDPOINT_SLICES, ENDPOINTS, SERVICES
from fairway.controllers.cluster import Cluster
from fairway.controllers.endpointslicemirroring.plan import is_mirror, plan
from fairway.controllers.loop import Loop
from fairway.controllers.slices import SERVICE_NAME

NAME = "endpointslice-mirroring-controller"


class EndpointSliceMirroringController:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._services = cluster.cache(SERVICES, Service)
        self._endpoints = cluster.cache(ENDPOINTS, Endpoints)
        slices = cluster.cache(ENDPOINT_SLICES, EndpointSlice)
        self._mirrors_of = slices.index(_mirrored)
        self.loop = Loop(NAME, self.sync)
        self._services.on_change(self._service_changed)
        self._endpoints.on_change(lambda key, _old, _new: self.loop.add(key))
        slices.on_change(self._slice_changed)

    async def sync(self, key: str) -> None:
        result = plan(self._services.get(key), self._endpoints.get(key), self._mirrors_of(key))
        await self._cluster.apply(result.writes)

    def _service_changed(self, key: str, old: Service | None, new: Service | None) -> None:
        """Of a Service only its existence and whether it has a selector matter."""
        if old is None or new is None or bool(old.spec.selector) != bool(new.spec.selector):
            self.loop.add(key)

    def _slice_changed(self, _key: str, old: EndpointSlice | None, new: EndpointSlice | None) -> None:
        for item in (old, new):
            for key in _mirrored(item) if item is not None else ():
                self.loop.add(key)


def _mirrored(item: EndpointSlice) -> Iterator[str]:
    if is_mirror(item):
        yield f"{item.metadata.namespace}/{item.metadata.label(SERVICE_NAME)}"
