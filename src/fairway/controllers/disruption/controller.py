"""Follows PodDisruptionBudgets, their Pods and those who own the Pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairway.api.objects import OwnerReference, Pod
from fairway.api.resources import (
    DEPLOYMENTS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
    Resource,
)
from fairway.controllers.cache import Cache, Item
from fairway.controllers.cluster import Cluster
from fairway.controllers.disruption.plan import Budget, Scale, plan
from fairway.controllers.loop import Loop
from fairway.controllers.owners import controller_of
from fairway.controllers.pods import is_ready, is_terminating
from fairway.controllers.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet

NAME = "disruption-controller"
SCALED: Mapping[Resource, type[Any]] = {
    DEPLOYMENTS: Deployment,
    REPLICA_SETS: ReplicaSet,
    REPLICATION_CONTROLLERS: ReplicationController,
    STATEFUL_SETS: StatefulSet,
}


class DisruptionController:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._budgets = cluster.cache(POD_DISRUPTION_BUDGETS, Budget)
        self._in_namespace = self._budgets.index(_namespace)
        pods = cluster.cache(PODS, Pod)
        self._pods_in = pods.index(_namespace)
        self._owners: dict[str, Cache[Any]] = {r.kind: cluster.cache(r, view) for r, view in SCALED.items()}
        self.loop = Loop(NAME, self.sync)
        self._budgets.on_change(lambda key, _old, _new: self.loop.add(key))
        pods.on_change(self._pod_changed)
        for owners in self._owners.values():
            owners.on_change(self._owner_changed)

    async def sync(self, key: str) -> float | None:
        budget = self._budgets.get(key)
        if budget is None or budget.spec.selector is None:
            return None
        here = self._pods_in(budget.metadata.namespace)
        pods = [pod for pod in here if budget.spec.selector.matches(pod.metadata.labels)]
        step = plan(budget, pods, self._scale(pods), self._cluster.now())
        await self._cluster.apply(step.writes)
        self._cluster.tell(POD_DISRUPTION_BUDGETS, budget.metadata, step.notices)
        return step.look_again

    def _scale(self, pods: Sequence[Pod]) -> Scale:
        """The sizes of all owners together, each counted once; a ReplicaSet's Deployment in its place."""
        sizes: dict[str, int] = {}
        unmanaged: list[str] = []
        for pod in pods:
            reference = controller_of(pod.metadata)
            if reference is None:
                unmanaged.append(pod.metadata.name)
                continue
            owner = self._owner(pod.metadata.namespace, reference)
            if owner is None:
                return Scale(failure=f'found no controllers for pod "{pod.metadata.name}"')
            sizes[owner.metadata.uid] = owner.spec.replicas
        return Scale(sum(sizes.values()), tuple(unmanaged))

    def _owner(self, namespace: str, reference: OwnerReference) -> Any:
        owners = self._owners.get(reference.kind)
        found = owners.get(f"{namespace}/{reference.name}") if owners is not None else None
        if found is None or found.metadata.uid != reference.uid:
            return None
        above = controller_of(found.metadata)
        return (self._owner(namespace, above) if above is not None else None) or found

    def _pod_changed(self, _key: str, old: Pod | None, new: Pod | None) -> None:
        if old is not None and new is not None and _concerns(old) == _concerns(new):
            return
        for pod in (old, new):
            for budget in self._in_namespace(pod.metadata.namespace) if pod is not None else ():
                if budget.spec.selector and pod and budget.spec.selector.matches(pod.metadata.labels):
                    self.loop.add(budget.metadata.key)

    def _owner_changed(self, _key: str, old: Any, new: Any) -> None:
        """Of an owner only how many Pods it asks for matters; which budgets select them is soon looked up."""
        if old is None or new is None or old.spec.replicas != new.spec.replicas:
            for budget in self._in_namespace((new or old).metadata.namespace):
                self.loop.add(budget.metadata.key)


def _namespace(item: Item) -> tuple[str]:
    return (item.metadata.namespace,)


def _concerns(pod: Pod) -> tuple[object, ...]:
    meta = pod.metadata
    return (meta.uid, meta.labels, meta.owner_references, is_terminating(pod), is_ready(pod))
