"""Follows namespaces; empties those that are to go, and lets go of them when they are empty."""

from __future__ import annotations

import asyncio

import msgspec

from fairway.api.resources import NAMESPACES, Resource
from fairway.client import ApiError, NotFound
from fairway.controllers.cluster import Bare, Cluster
from fairway.controllers.everything import namespaced_resources
from fairway.controllers.loop import Loop
from fairway.controllers.namespace.plan import is_held, remaining_condition, without_finalizer
from fairway.controllers.namespaces import Namespace

NAME = "namespace-controller"
LOOK_AGAIN = 0.5  # while Pods are given time to end


class NamespaceController:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._namespaces = cluster.cache(NAMESPACES, Namespace)
        self._explained: set[str] = set()
        self.loop = Loop(NAME, self.sync, workers=4)
        self._namespaces.on_change(self._changed)

    def _changed(self, key: str, _old: Namespace | None, new: Namespace | None) -> None:
        if new is None:
            self._explained.discard(key)
        elif is_held(new):
            self.loop.add(key)

    async def sync(self, key: str) -> float | None:
        namespace = self._namespaces.get(key)
        if namespace is None or not is_held(namespace):
            return None
        counts = await asyncio.gather(*(self._empty(r, key) for r in namespaced_resources()))
        left = {plural: count for plural, count in counts if count}
        if not left:
            await self._let_go(key)
            return None
        if key not in self._explained:
            self._explained.add(key)
            await self._cluster.write(remaining_condition(namespace, left, self._cluster.now()))
        return LOOK_AGAIN

    async def _empty(self, resource: Resource, namespace: str) -> tuple[str, int]:
        """Deletes all of one kind; how many are still there, because they may end in their own time."""
        client = self._cluster.client
        try:
            if not (await client.list(resource, namespace=namespace, type=Bare)).items:
                return resource.qualified, 0
            options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
            await client.request("DELETE", resource.path(namespace), body=msgspec.json.encode(options))
            left = await client.list(resource, namespace=namespace, type=Bare)
        except ApiError as error:
            if error.status in (404, 405):  # a kind this server does not have, or that can't be deleted
                return resource.qualified, 0
            raise
        return resource.qualified, len(left.items)

    async def _let_go(self, name: str) -> None:
        client = self._cluster.client
        try:
            current = await client.get(NAMESPACES, name)
            await client.update(NAMESPACES, without_finalizer(current), subresource="finalize")
        except NotFound:
            return
