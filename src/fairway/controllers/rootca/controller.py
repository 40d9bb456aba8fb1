"""Follows namespaces and their `kube-root-ca.crt`, and puts right those that are missing or changed."""

from __future__ import annotations

from fairway.api.resources import CONFIG_MAPS, NAMESPACES
from fairway.client import AlreadyExists
from fairway.controllers.cluster import Cluster
from fairway.controllers.loop import Loop
from fairway.controllers.namespaces import Namespace
from fairway.controllers.rootca import plan as rootca
from fairway.controllers.rootca.plan import ConfigMap

NAME = "root-ca-certificate-publisher-controller"


class RootCAController:
    def __init__(self, cluster: Cluster, bundle: str) -> None:
        self._cluster = cluster
        self._bundle = bundle
        self._namespaces = cluster.cache(NAMESPACES, Namespace)
        # Only the one name: other ConfigMaps may be many and large.
        selector = f"metadata.name={rootca.NAME}"
        self._published = cluster.cache(CONFIG_MAPS, ConfigMap, field_selector=selector)
        self.loop = Loop(NAME, self.sync)
        self._namespaces.on_change(lambda key, _old, _new: self.loop.add(key))
        self._published.on_change(lambda key, _old, _new: self.loop.add(key.partition("/")[0]))

    async def sync(self, key: str) -> None:
        current = self._published.get(f"{key}/{rootca.NAME}")
        try:
            await self._cluster.apply(rootca.plan(self._namespaces.get(key), current, self._bundle).writes)
        except AlreadyExists:
            return
