"""Follows the metadata of all objects and collects those that nobody owns any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairway.api.objects import OwnerReference
from fairway.api.resources import Resource
from fairway.client import NotFound
from fairway.controllers.cache import Item
from fairway.controllers.cluster import Bare, Cluster
from fairway.controllers.garbagecollector.graph import Graph, Thing
from fairway.controllers.garbagecollector.plan import Owner, blocking, plan
from fairway.controllers.loop import Loop

NAME = "garbage-collector-controller"
DOUBT = 0.5  # seconds before an object is collected for an owner that was never seen


class GarbageCollector:
    """Keys are uids. To be made after all other controllers: it shares the caches they asked for."""

    def __init__(self, cluster: Cluster, resources: Iterable[Resource], doubt: float = DOUBT) -> None:
        self._cluster = cluster
        self._doubt = doubt
        self._graph = Graph()
        self._doubted: set[str] = set()
        self._kinds = {(r.api_version, r.kind): r for r in resources}
        self.loop = Loop(NAME, self.sync, workers=16)
        for resource in self._kinds.values():
            cluster.metadata(resource).on_change(self._follow(resource))

    async def sync(self, uid: str) -> float | None:
        thing = self._graph.get(uid)
        if thing is None:
            self._doubted.discard(uid)
            return None
        if self._doubt and self._is_new_to_us(thing):
            return self._doubt
        dependents = self._graph.dependents(uid)
        owners = [] if thing.is_going else [(ref, await self._state(thing, ref)) for ref in thing.owners]
        await self._cluster.apply(plan(thing, owners, dependents))
        if thing.waits_for_dependents:
            for dependent in blocking(thing, dependents):
                self.loop.add(dependent.meta.uid)
        return None

    def _is_new_to_us(self, thing: Thing) -> bool:
        """An owner nobody has seen may be on its way, or its dependent not complete yet: look twice."""
        uid = thing.meta.uid
        unseen = [r.uid for r in thing.owners if self._graph.get(r.uid) is None]
        if thing.is_going or uid in self._doubted or all(map(self._graph.saw_go, unseen)):
            self._doubted.discard(uid)
            return False
        self._doubted.add(uid)
        return True

    async def _state(self, thing: Thing, ref: OwnerReference) -> Owner:
        owner = self._graph.get(ref.uid)
        # A uid under another kind, name or namespace is no owner: references don't reach across namespaces.
        if owner is not None and owner.is_meant_by(ref, thing):
            waits = owner.waits_for_dependents and bool(ref.block_owner_deletion)
            return Owner.WAITING if waits else Owner.SOLID
        if self._graph.saw_go(ref.uid) or await self._is_absent(thing, ref):
            return Owner.GONE
        return Owner.SOLID

    async def _is_absent(self, thing: Thing, ref: OwnerReference) -> bool:
        """The informer may not have shown the owner yet: only the server's word counts against it."""
        resource = self._kinds.get((ref.api_version, ref.kind))
        if resource is None or (resource.namespaced and not thing.resource.namespaced):
            return False  # a kind we don't know, or a reference that can't be right: leave it alone
        namespace = thing.meta.namespace if resource.namespaced else None
        try:
            live = await self._cluster.client.get(resource, ref.name, namespace=namespace, type=Bare)
        except NotFound:
            return True
        return live.metadata.uid != ref.uid

    def _follow(self, resource: Resource) -> Callable[[str, Item | None, Item | None], None]:
        def changed(_key: str, old: Item | None, new: Item | None) -> None:
            if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
                self._removed(Thing(resource, old.metadata))
            if new is not None:
                self._put(Thing(resource, new.metadata))

        return changed

    def _put(self, thing: Thing) -> None:
        before = self._graph.get(thing.meta.uid)
        self._graph.put(thing)
        known = before is not None and _concerns(before) == _concerns(thing)
        if not known and (thing.is_going or thing.owners):
            self.loop.add(thing.meta.uid)

    def _removed(self, thing: Thing) -> None:
        uid = thing.meta.uid
        self._graph.remove(uid)
        for dependent in self._graph.dependents(uid):
            self.loop.add(dependent.meta.uid)
        for ref in thing.owners:
            owner = self._graph.get(ref.uid)
            if owner is not None and owner.waits_for_dependents:
                self.loop.add(ref.uid)


def _concerns(thing: Thing) -> object:
    return (thing.owners, thing.is_going, thing.meta.finalizers)
