"""Follows Pods without a node and the nodes there are; decides one by one, binds side by side."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from fairway.api.objects import Node, Pod
from fairway.api.resources import NODES, PODS
from fairway.client import ApiError
from fairway.controllers.cluster import Cluster
from fairway.controllers.loop import Loop
from fairway.controllers.owners import controller_of
from fairway.controllers.pods import is_terminal
from fairway.controllers.scheduler.plan import Snapshot, bound_to, plan, waits_for_a_node
from fairway.controllers.selection import Selection
from fairway.controllers.writes import Plan

NAME = "scheduler"


class Scheduler:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pods = cluster.cache(PODS, Pod)
        self._nodes = cluster.cache(NODES, Node)
        self._on_node = self._pods.index(lambda pod: (pod.spec.node_name,) if pod.spec.node_name else ())
        self._selection = cluster.shared(Selection)
        self._refused: set[str] = set()  # Pods that no node would do for
        self.loop = Loop(NAME, self.sync, workers=32)
        self._pods.on_change(self._pod_changed)
        self._nodes.on_change(self._node_changed)

    async def sync(self, key: str) -> None:
        pod = self._pods.get(key)
        self._refused.discard(key)
        if pod is None or not waits_for_a_node(pod):
            return
        decision = plan(pod, self._snapshot(pod), self._cluster.now())
        node = bound_to(decision)
        if node is None:
            self._refused.add(key)
            await self._cluster.apply(decision.writes)
        else:
            await self._bind(pod, node, decision)
        self._cluster.tell(PODS, pod.metadata, decision.notices)

    async def _bind(self, pod: Pod, node: str, decision: Plan) -> None:
        """The next decision has to see this one, not wait for it: bindings are made side by side."""
        self._pods.assume(replace(pod, spec=replace(pod.spec, node_name=node)))
        try:
            await self._cluster.apply(decision.writes)
        except ApiError:
            self._pods.doubt(pod.metadata.key)
            raise

    def _snapshot(self, pod: Pod) -> Snapshot:
        nodes = sorted(self._nodes, key=lambda node: node.metadata.name)
        pods_on = {node.metadata.name: self._on_node(node.metadata.name) for node in nodes}
        return Snapshot(nodes, pods_on, self._related_to(pod))

    def _related_to(self, pod: Pod) -> Callable[[Pod], bool]:
        owner = controller_of(pod.metadata)
        services = self._selection.services_of(pod)

        def related(other: Pod) -> bool:
            if other.metadata.namespace != pod.metadata.namespace:
                return False
            theirs = controller_of(other.metadata)
            same_owner = owner is not None and theirs is not None and owner.uid == theirs.uid
            return same_owner or bool(services and services & self._selection.services_of(other))

        return related

    def _pod_changed(self, key: str, old: Pod | None, new: Pod | None) -> None:
        if new is not None and waits_for_a_node(new):
            if old is None or _asks(old) != _asks(new):
                self.loop.add(key)
        elif old is not None and old.spec.node_name and (new is None or is_terminal(new)):
            self._try_refused()  # room has been made

    def _node_changed(self, _name: str, old: Node | None, new: Node | None) -> None:
        if new is not None and (old is None or _offers(old) != _offers(new)):
            self._try_refused()

    def _try_refused(self) -> None:
        for key in self._refused:
            self.loop.add(key)


def _asks(pod: Pod) -> object:
    return (pod.spec, pod.metadata.uid, pod.metadata.labels, waits_for_a_node(pod))


def _offers(node: Node) -> object:
    return (node.metadata.labels, node.spec, node.status.allocatable)
