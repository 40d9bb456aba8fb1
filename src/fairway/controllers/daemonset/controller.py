"""Follows DaemonSets, their Pods and revisions, and the nodes."""

from __future__ import annotations

from collections.abc import Iterable

from fairway.api.objects import Node, Pod
from fairway.api.resources import DAEMON_SETS, NODES, PODS
from fairway.controllers.cluster import Cluster
from fairway.controllers.daemonset.patience import Patience
from fairway.controllers.daemonset.placement import node_of
from fairway.controllers.daemonset.plan import plan
from fairway.controllers.loop import Loop
from fairway.controllers.owners import claim
from fairway.controllers.podsbyowner import PodsByOwner, follow_pods
from fairway.controllers.revisions import Revisions
from fairway.controllers.takeover import take_over
from fairway.controllers.workloads import DaemonSet
from fairway.controllers.writes import Delete, Notice, Write

NAME = "daemonset-controller"


class DaemonSetController:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sets = cluster.cache(DAEMON_SETS, DaemonSet)
        self._in_namespace = self._sets.index(lambda item: (item.metadata.namespace,))
        self._nodes = cluster.cache(NODES, Node)
        self._pods = cluster.shared(PodsByOwner)
        self._revisions = cluster.shared(Revisions)
        self._patience = Patience()
        self.loop = Loop(NAME, self.sync)
        self._sets.on_change(lambda key, _old, _new: self.loop.add(key))
        self._nodes.on_change(self._node_changed)
        self._revisions.follow(DAEMON_SETS, self.loop.add)
        follow_pods(cluster, DAEMON_SETS, self.loop.add, self._adopters)

    async def sync(self, key: str) -> float | None:
        owner = self._sets.get(key)
        if owner is None or owner.spec.selector.empty:
            return None
        claimed = claim(owner.metadata, owner.spec.selector, self._pods.candidates(owner.metadata))
        if await take_over(self._cluster, DAEMON_SETS, owner.metadata, PODS, claimed):
            return 0
        pods = self._pods.owned(owner.metadata.uid)
        history = self._revisions.of(owner.metadata)
        now = self._cluster.now()
        held = self._patience.held(owner.metadata.uid, owner.metadata.generation, now)
        step = plan(owner, pods, history, self._nodes, now, held)
        self._note_failures(owner, pods, step.writes, now)
        collisions = owner.status.collision_count
        for write in step.writes:
            if await self._revisions.write(write, DAEMON_SETS, owner.metadata, collisions):
                return 0
        return min((*held.values(), *filter(None, (step.look_again,))), default=None)

    def _note_failures(
        self, owner: DaemonSet, pods: Iterable[Pod], writes: Iterable[Write], now: float
    ) -> None:
        going = {write.uid for write in writes if isinstance(write, Delete)}
        meta = owner.metadata
        for pod in pods:
            if pod.metadata.uid in going and pod.status.phase == "Failed":
                self._patience.removed(meta.uid, meta.generation, node_of(pod), now)
                text = (
                    f"Found failed daemon pod {pod.metadata.key} on node {node_of(pod)}, will try to kill it"
                )
                self._cluster.tell(DAEMON_SETS, meta, [Notice("FailedDaemonPod", text, warning=True)])

    def _node_changed(self, _name: str, old: Node | None, new: Node | None) -> None:
        if old is None or new is None or _suits(old) != _suits(new):
            for item in self._sets:
                self.loop.add(item.metadata.key)

    def _adopters(self, pod: Pod) -> list[str]:
        sets = self._in_namespace(pod.metadata.namespace)
        return [s.metadata.key for s in sets if s.spec.selector.matches(pod.metadata.labels)]


def _suits(node: Node) -> object:
    return (node.metadata.labels, node.spec.taints)
