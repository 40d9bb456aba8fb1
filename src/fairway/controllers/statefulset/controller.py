"""Follows StatefulSets, their Pods and revisions, and takes one step after the other."""

from __future__ import annotations

from fairway.api.objects import Pod
from fairway.api.resources import PODS, STATEFUL_SETS
from fairway.client import AlreadyExists, NotFound
from fairway.controllers.cluster import Bare, Cluster
from fairway.controllers.loop import Loop
from fairway.controllers.owners import claim
from fairway.controllers.podsbyowner import PodsByOwner, follow_pods
from fairway.controllers.revisions import Revisions
from fairway.controllers.statefulset.claims import PERSISTENT_VOLUME_CLAIMS
from fairway.controllers.statefulset.identity import ordinal_of
from fairway.controllers.statefulset.plan import plan
from fairway.controllers.takeover import take_over
from fairway.controllers.workloads import StatefulSet
from fairway.controllers.writes import Write

NAME = "statefulset-controller"


class StatefulSetController:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sets = cluster.cache(STATEFUL_SETS, StatefulSet)
        self._in_namespace = self._sets.index(lambda item: (item.metadata.namespace,))
        self._pods = cluster.shared(PodsByOwner)
        self._revisions = cluster.shared(Revisions)
        self._claims: bool | None = None
        self.loop = Loop(NAME, self.sync)
        self._sets.on_change(lambda key, _old, _new: self.loop.add(key))
        self._revisions.follow(STATEFUL_SETS, self.loop.add)
        follow_pods(cluster, STATEFUL_SETS, self.loop.add, self._adopters)

    async def sync(self, key: str) -> float | None:
        owner = self._sets.get(key)
        if owner is None or owner.spec.selector.empty:
            return None
        # Only Pods that bear a name of this set are its own.
        candidates = self._pods.candidates(owner.metadata)
        named = [pod for pod in candidates if ordinal_of(owner.metadata, pod) is not None]
        claimed = claim(owner.metadata, owner.spec.selector, named)
        if await take_over(self._cluster, STATEFUL_SETS, owner.metadata, PODS, claimed):
            return 0
        pods = self._pods.owned(owner.metadata.uid)
        history = self._revisions.of(owner.metadata)
        claims = bool(owner.spec.volume_claim_templates) and await self._has_claims()
        step = plan(owner, pods, history, self._cluster.now(), claims=claims)
        for write in step.writes:
            if await self._write(owner, write):
                return 0
        self._cluster.tell(STATEFUL_SETS, owner.metadata, step.notices)
        return step.look_again

    async def _write(self, owner: StatefulSet, write: Write) -> bool:
        """True if the set has to be looked at again before anything else is done."""
        try:
            return await self._revisions.write(
                write, STATEFUL_SETS, owner.metadata, owner.status.collision_count
            )
        except AlreadyExists:
            if write.resource != PERSISTENT_VOLUME_CLAIMS:
                raise
            return False  # a claim outlives its Pod; the next Pod of that name takes it up again

    async def _has_claims(self) -> bool:
        """Whether the server knows PersistentVolumeClaims; asked once."""
        if self._claims is None:
            try:
                await self._cluster.client.list(PERSISTENT_VOLUME_CLAIMS, limit=1, type=Bare)
                self._claims = True
            except NotFound:
                self._claims = False
        return self._claims

    def _adopters(self, pod: Pod) -> list[str]:
        sets = self._in_namespace(pod.metadata.namespace)
        return [s.metadata.key for s in sets if s.spec.selector.matches(pod.metadata.labels)]
