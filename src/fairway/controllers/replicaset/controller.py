"""Follows ReplicaSets and their Pods, and makes or removes Pods until the number is right."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from fairway.api.objects import Pod
from fairway.api.resources import REPLICA_SETS, Resource
from fairway.client import ApiError
from fairway.controllers.cache import Cache
from fairway.controllers.cluster import Cluster
from fairway.controllers.loop import Loop
from fairway.controllers.owners import controller_of
from fairway.controllers.podsbyowner import PodsByOwner, follow_pods
from fairway.controllers.replicaset.plan import ReplicaPlan, plan, plan_status, replica_failure
from fairway.controllers.workloads import (
    ReplicaOwner,
    ReplicaSet,
    ReplicationController,
    WorkloadCondition,
)
from fairway.controllers.writes import Create, Delete, Notice

NAME = "replicaset-controller"


class ReplicaSetController:
    """Runs ReplicationControllers, too: `kind` and `view` say which of the two."""

    def __init__(
        self,
        cluster: Cluster,
        name: str = NAME,
        kind: Resource = REPLICA_SETS,
        view: type[ReplicaSet] | type[ReplicationController] = ReplicaSet,
    ) -> None:
        self._cluster = cluster
        self._kind = kind
        self._sets: Cache[Any] = cluster.cache(kind, view)
        self._pods = cluster.shared(PodsByOwner)
        self._in_namespace = self._sets.index(lambda item: (item.metadata.namespace,))
        self._siblings = self._sets.index(_controller_uid)
        self.loop = Loop(name, self.sync)
        self._sets.on_change(lambda key, _old, _new: self.loop.add(key))
        follow_pods(cluster, kind, self.loop.add, self._adopters)

    async def sync(self, key: str) -> float | None:
        owner: ReplicaOwner | None = self._sets.get(key)
        if owner is None:
            return None
        now = self._cluster.now()
        candidates = self._pods.candidates(owner.metadata)
        step = plan(owner, candidates, self._related(owner), now, self._kind)
        failure = await self._carry_out(owner, step)
        current: ReplicaOwner = self._sets.get(key) or owner
        candidates = self._pods.candidates(owner.metadata)
        status = plan_status(current, candidates, failure, now, self._kind)
        if status is not None:
            await self._cluster.write(status)
        if failure is not None:
            raise ApiError(0, failure.reason, failure.message)
        return step.look_again

    async def _carry_out(self, owner: ReplicaOwner, step: ReplicaPlan) -> WorkloadCondition | None:
        if step.adopt:
            await self._cluster.check_alive(self._kind, owner.metadata)
        await self._cluster.apply((*step.adopt, *step.release))
        try:
            await self._make(owner, step.create)
        except ApiError as error:
            return self._failed(owner, "FailedCreate", f"Error creating: {error.message}")
        try:
            await self._remove(owner, step.delete)
        except ApiError as error:
            return self._failed(owner, "FailedDelete", f"Error deleting: {error.message}")
        return None

    async def _make(self, owner: ReplicaOwner, pods: Sequence[Create]) -> None:
        """One, two, four…: where Pods are refused, one refusal is enough to know."""
        start, size = 0, 1
        while start < len(pods):
            batch = pods[start : start + size]
            made = await asyncio.gather(*(self._cluster.write(pod) for pod in batch), return_exceptions=True)
            names = [name for name in made if isinstance(name, str)]
            self._tell(owner, [Notice("SuccessfulCreate", f"Created pod: {name}") for name in names])
            _raise_first(made)
            start, size = start + size, size * 2

    async def _remove(self, owner: ReplicaOwner, pods: Sequence[Delete]) -> None:
        gone = await asyncio.gather(*(self._cluster.write(pod) for pod in pods), return_exceptions=True)
        names = [name for name in gone if isinstance(name, str)]
        self._tell(owner, [Notice("SuccessfulDelete", f"Deleted pod: {name}") for name in names])
        _raise_first(gone)

    def _failed(self, owner: ReplicaOwner, reason: str, message: str) -> WorkloadCondition:
        self._tell(owner, [Notice(reason, message, warning=True)])
        return replica_failure(reason, message, self._cluster.now())

    def _tell(self, owner: ReplicaOwner, notices: list[Notice]) -> None:
        self._cluster.tell(self._kind, owner.metadata, notices)

    def _related(self, owner: ReplicaOwner) -> list[Pod]:
        """Pods of all ReplicaSets of one Deployment: they share nodes, so they are counted together."""
        siblings = self._siblings(uid) if (uid := next(iter(_controller_uid(owner)), "")) else [owner]
        return [pod for sibling in siblings for pod in self._pods.owned(sibling.metadata.uid)]

    def _adopters(self, pod: Pod) -> list[str]:
        sets = self._in_namespace(pod.metadata.namespace)
        return [s.metadata.key for s in sets if s.spec.selector.matches(pod.metadata.labels)]


def _controller_uid(item: ReplicaOwner) -> tuple[str, ...]:
    owner = controller_of(item.metadata)
    return (owner.uid,) if owner else ()


def _raise_first(results: Sequence[object]) -> None:
    for result in results:
        if isinstance(result, BaseException):
            raise result
