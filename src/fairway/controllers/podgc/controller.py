"""Looks over all Pods every so often and removes those that nobody else will."""

from __future__ import annotations

from fairway.api.objects import Node, Pod
from fairway.api.resources import NODES, PODS
from fairway.client import NotFound
from fairway.controllers.cluster import Bare, Cluster
from fairway.controllers.loop import Loop
from fairway.controllers.podgc.plan import MAX_ENDED, ended_for_long, never_started, on_lost_nodes

NAME = "pod-garbage-collector-controller"
PERIOD = 20.0
QUARANTINE = 40.0  # how long a node has to be missing; it may just be registering again
ALL = "all pods"


class PodGarbageCollector:
    def __init__(self, cluster: Cluster, most_ended: int = MAX_ENDED) -> None:
        self._cluster = cluster
        self._most_ended = most_ended
        self._pods = cluster.cache(PODS, Pod)
        self._nodes = cluster.cache(NODES, Node)
        self._missing: dict[str, float] = {}  # node → since when
        self.loop = Loop(NAME, self.sync, workers=1)
        self.loop.add(ALL)

    async def sync(self, _key: str) -> float:
        pods = list(self._pods)
        lost = await self._lost_nodes(pods)
        ended = ended_for_long(pods, self._most_ended)
        await self._cluster.apply((*ended, *never_started(pods), *on_lost_nodes(pods, lost)))
        return PERIOD

    async def _lost_nodes(self, pods: list[Pod]) -> list[str]:
        now = self._cluster.now()
        used = {pod.spec.node_name for pod in pods if pod.spec.node_name}
        missing = {name for name in used if self._nodes.get(name) is None}
        self._missing = {name: self._missing.get(name, now) for name in missing}
        due = [name for name, since in self._missing.items() if now - since >= QUARANTINE]
        return [name for name in due if await self._is_absent(name)]

    async def _is_absent(self, node: str) -> bool:
        """The server's own word, not the informer's: Pods are lost for good here."""
        try:
            await self._cluster.client.get(NODES, node, type=Bare)
        except NotFound:
            return True
        return False
