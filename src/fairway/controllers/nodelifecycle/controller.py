"""Listens for signs of life of every node, and draws the consequences when there are none."""

from __future__ import annotations

from dataclasses import dataclass

from fairway.api.objects import Node, NodeStatus, ObjectMeta, Pod, View
from fairway.api.resources import LEASES, NODES, PODS
from fairway.controllers.cluster import Cluster
from fairway.controllers.loop import Loop
from fairway.controllers.nodelifecycle.plan import (
    GRACE,
    plan_evictions,
    plan_silence,
    plan_taints,
    plan_unready_pods,
    readiness,
)

NAME = "node-lifecycle-controller"
PERIOD = 5.0
LEASE_NAMESPACE = "kube-node-lease"


class LeaseSpec(View, frozen=True):
    renew_time: str | None = None


class Lease(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


@dataclass(frozen=True, slots=True)
class _Heard:
    """What a node last said, and when we heard it: clocks of other machines are not compared with ours."""

    renewed: str | None
    status: NodeStatus | None
    at: float


class NodeLifecycleController:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._nodes = cluster.cache(NODES, Node)
        self._leases = cluster.cache(LEASES, Lease, namespace=LEASE_NAMESPACE)
        self._on_node = cluster.cache(PODS, Pod).index(
            lambda pod: (pod.spec.node_name,) if pod.spec.node_name else ()
        )
        self._heard: dict[str, _Heard] = {}
        self.loop = Loop(NAME, self.sync)
        self._nodes.on_change(lambda key, _old, _new: self.loop.add(key))

    async def sync(self, name: str) -> float | None:
        node = self._nodes.get(name)
        if node is None:
            self._heard.pop(name, None)
            return None
        now = self._cluster.now()
        if self._is_silent(name, now):
            await self._cluster.apply(plan_silence(node, now))
        node = self._nodes.get(name) or node
        await self._cluster.apply(plan_taints(node, now))
        if self._all_silent(now):
            return PERIOD
        node = self._nodes.get(name) or node
        await self._cluster.apply(plan_unready_pods(node, self._on_node(name), now))
        evictions, next_one = plan_evictions(node, self._on_node(name), now)
        await self._cluster.apply(evictions)
        return min(PERIOD, next_one) if next_one is not None else PERIOD

    def _is_silent(self, name: str, now: float) -> bool:
        lease, node = self._leases.get(f"{LEASE_NAMESPACE}/{name}"), self._nodes.get(name)
        renewed = lease.spec.renew_time if lease is not None else None
        # A status that says Unknown is our own word, not the node's.
        status = node.status if node is not None and readiness(node) != "Unknown" else None
        heard = self._heard.get(name)
        if heard is None or renewed != heard.renewed or status not in (None, heard.status):
            self._heard[name] = heard = _Heard(renewed, status, now)
        return now - heard.at > GRACE

    def _all_silent(self, now: float) -> bool:
        """Then it may be us who hear nothing, after the API server was away: no Pod is to suffer for it."""
        return all(self._is_silent(node.metadata.name, now) for node in self._nodes)
