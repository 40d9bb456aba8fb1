"""Listens for signs of life of every node, and draws the consequences when there are none."""

from __future__ import annotations

from fairway.api.objects import Node, ObjectMeta, Pod, View
from fairway.api.resources import LEASES, NODES, PODS
from fairway.client import ApiError
from fairway.controllers.cluster import Bare, Cluster
from fairway.controllers.loop import Loop
from fairway.controllers.nodelifecycle.hearing import Hearing
from fairway.controllers.nodelifecycle.plan import (
    GRACE,
    plan_evictions,
    plan_silence,
    plan_taints,
    plan_unready_pods,
)

NAME = "node-lifecycle-controller"
PERIOD = 5.0
LEASE_NAMESPACE = "kube-node-lease"


class LeaseSpec(View, frozen=True):
    renew_time: str | None = None


class Lease(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class NodeLifecycleController:
    def __init__(self, cluster: Cluster, grace: float = GRACE, period: float = PERIOD) -> None:
        self._cluster = cluster
        self._period = period
        self._nodes = cluster.cache(NODES, Node)
        self._leases = cluster.cache(LEASES, Lease, namespace=LEASE_NAMESPACE)
        self._on_node = cluster.cache(PODS, Pod).index(
            lambda pod: (pod.spec.node_name,) if pod.spec.node_name else ()
        )
        self._hearing = Hearing(grace, period)
        self.loop = Loop(NAME, self.sync)
        self._nodes.on_change(lambda key, _old, _new: self.loop.add(key))

    async def sync(self, name: str) -> float | None:
        node, now = self._nodes.get(name), self._cluster.now()
        if node is None:
            self._hearing.forget(name)
            return None
        lease = self._leases.get(f"{LEASE_NAMESPACE}/{name}")
        self._hearing.listen(node, lease.spec.renew_time if lease is not None else None, now)
        if self._hearing.should_ask(now):
            await self._ask(now)
        all_silent = self._hearing.all_silent(now)
        if all_silent and self._hearing.is_deaf(now):
            return self._period
        if self._hearing.is_silent(name, now):
            await self._cluster.apply(plan_silence(node, now))
        node = self._nodes.get(name) or node
        await self._cluster.apply(plan_taints(node, now))
        node = self._nodes.get(name) or node
        await self._cluster.apply(plan_unready_pods(node, self._on_node(name), now))
        if all_silent:
            return self._period  # nobody is evicted: there would be nowhere to go
        evictions, next_one = plan_evictions(node, self._on_node(name), now)
        await self._cluster.apply(evictions)
        return self._period if next_one is None else min(self._period, next_one)

    async def _ask(self, now: float) -> None:
        try:
            await self._cluster.client.list(NODES, limit=1, type=Bare)
        except ApiError:
            self._hearing.unanswered()
            raise
        self._hearing.answered(now)
