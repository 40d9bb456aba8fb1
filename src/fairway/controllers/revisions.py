"""ControllerRevisions in the cache: by owner, and written so that a taken name is noticed."""

from __future__ import annotations

from collections.abc import Callable

from fairway.api.objects import ObjectMeta
from fairway.api.resources import CONTROLLER_REVISIONS, Resource
from fairway.client import AlreadyExists
from fairway.controllers.cluster import Cluster
from fairway.controllers.owners import adoption, controller_of, controller_reference, is_controlled_by
from fairway.controllers.podhash import pruned
from fairway.controllers.workloads import ControllerRevision
from fairway.controllers.writes import Create, Patch, Write


class Revisions:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._cache = cluster.cache(CONTROLLER_REVISIONS, ControllerRevision)
        self._by_owner = self._cache.index(_owner)

    def of(self, owner: ObjectMeta) -> list[ControllerRevision]:
        return self._by_owner(owner.uid)

    def follow(self, kind: Resource, add: Callable[[str], None]) -> None:
        def changed(_key: str, old: ControllerRevision | None, new: ControllerRevision | None) -> None:
            for item in (old, new):
                owner = controller_of(item.metadata) if item is not None else None
                if item is not None and owner is not None and owner.kind == kind.kind:
                    add(f"{item.metadata.namespace}/{owner.name}")

        self._cache.on_change(changed)

    async def write(self, write: Write, kind: Resource, owner: ObjectMeta, collisions: int | None) -> bool:
        """Makes a write; True if a revision's name was taken and the owner has to be looked at again."""
        try:
            await self._cluster.write(write)
        except AlreadyExists:
            if not isinstance(write, Create) or write.resource != CONTROLLER_REVISIONS:
                raise
        else:
            return False
        found = await self._cluster.client.get(
            CONTROLLER_REVISIONS, write.name, namespace=write.namespace, type=ControllerRevision
        )
        if pruned(found.data) == pruned(write.obj["data"]):
            if is_controlled_by(found.metadata, owner.uid):
                self._cache.wrote(found)
                return True
            if controller_of(found.metadata) is None:  # left behind by an owner that gave up its dependents
                reference = controller_reference(kind, owner)
                await self._cluster.write(adoption(CONTROLLER_REVISIONS, found.metadata, reference))
                return True
        status = {"collisionCount": (collisions or 0) + 1}
        patch = {"metadata": {"resourceVersion": owner.resource_version}, "status": status}
        await self._cluster.write(Patch(kind, owner.namespace, owner.name, patch, "status"))
        return True


def _owner(item: ControllerRevision) -> tuple[str, ...]:
    owner = controller_of(item.metadata)
    return (owner.uid,) if owner else ()
