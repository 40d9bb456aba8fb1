"""Follows Deployments and their ReplicaSets, and takes one step after the other until they agree."""

from __future__ import annotations

from fairway.api.objects import Pod
from fairway.api.resources import DEPLOYMENTS, PODS, REPLICA_SETS
from fairway.client import AlreadyExists
from fairway.controllers.cluster import Cluster
from fairway.controllers.deployment.plan import plan
from fairway.controllers.loop import Loop
from fairway.controllers.owners import Claim, claim, controller_of, is_controlled_by
from fairway.controllers.podhash import same_template
from fairway.controllers.podsbyowner import PodsByOwner
from fairway.controllers.takeover import take_over
from fairway.controllers.workloads import Deployment, ReplicaSet
from fairway.controllers.writes import Create, Patch

NAME = "deployment-controller"


class DeploymentController:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._deployments = cluster.cache(DEPLOYMENTS, Deployment)
        self._in_namespace = self._deployments.index(lambda item: (item.metadata.namespace,))
        self._sets = cluster.cache(REPLICA_SETS, ReplicaSet)
        self._sets_of = self._sets.index(_owner_or_namespace)
        self._pods = cluster.shared(PodsByOwner)
        self.loop = Loop(NAME, self.sync)
        self._deployments.on_change(lambda key, _old, _new: self.loop.add(key))
        self._sets.on_change(self._set_changed)
        cluster.cache(PODS, Pod).on_change(self._pod_changed)

    async def sync(self, key: str) -> float | None:
        deployment = self._deployments.get(key)
        if deployment is None or deployment.spec.selector.empty:
            return None
        claimed = self._claim(deployment)
        if await take_over(self._cluster, DEPLOYMENTS, deployment.metadata, REPLICA_SETS, claimed):
            return 0
        pods = {item.metadata.uid: self._pods.owned(item.metadata.uid) for item in claimed.owned}
        step = plan(deployment, claimed.owned, pods, self._cluster.now())
        for write in step.writes:
            try:
                await self._cluster.write(write)
            except AlreadyExists:
                if not isinstance(write, Create):
                    raise
                await self._name_taken(deployment, write)
                return 0
        self._cluster.tell(DEPLOYMENTS, deployment.metadata, step.notices)
        return step.look_again

    def _claim(self, deployment: Deployment) -> Claim[ReplicaSet]:
        meta = deployment.metadata
        candidates = [*self._sets_of(meta.uid), *self._sets_of(_orphans(meta.namespace))]
        return claim(meta, deployment.spec.selector, candidates)

    async def _name_taken(self, deployment: Deployment, write: Create) -> None:
        """Either we made it and forgot, or another template has the same hash: then count the collision."""
        meta = deployment.metadata
        found = await self._cluster.client.get(
            REPLICA_SETS, write.name, namespace=write.namespace, type=ReplicaSet
        )
        ours = is_controlled_by(found.metadata, meta.uid)
        if ours and same_template(found.spec.template, deployment.spec.template):
            self._sets.wrote(found)
            return
        count = (deployment.status.collision_count or 0) + 1
        patch = {"metadata": {"resourceVersion": meta.resource_version}, "status": {"collisionCount": count}}
        await self._cluster.write(Patch(DEPLOYMENTS, meta.namespace, meta.name, patch, "status"))

    def _set_changed(self, _key: str, old: ReplicaSet | None, new: ReplicaSet | None) -> None:
        for item in (old, new):
            owner = controller_of(item.metadata) if item is not None else None
            if item is not None and owner is not None and owner.kind == DEPLOYMENTS.kind:
                self.loop.add(f"{item.metadata.namespace}/{owner.name}")
        if new is not None and controller_of(new.metadata) is None:
            for deployment in self._in_namespace(new.metadata.namespace):
                if deployment.spec.selector.matches(new.metadata.labels):
                    self.loop.add(deployment.metadata.key)

    def _pod_changed(self, _key: str, old: Pod | None, new: Pod | None) -> None:
        """Only a Pod's end matters: strategy Recreate waits for the last one of the old revision."""
        if old is None or new is not None:
            return
        owner = controller_of(old.metadata)
        item = self._sets.get(f"{old.metadata.namespace}/{owner.name}") if owner else None
        above = controller_of(item.metadata) if item is not None else None
        if above is not None:
            self.loop.add(f"{old.metadata.namespace}/{above.name}")


def _owner_or_namespace(item: ReplicaSet) -> tuple[str]:
    owner = controller_of(item.metadata)
    return (owner.uid if owner else _orphans(item.metadata.namespace),)


def _orphans(namespace: str) -> str:
    return f"orphans of {namespace}"
