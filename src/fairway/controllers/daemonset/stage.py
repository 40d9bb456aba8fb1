"""A DaemonSet, its nodes and its Pods as one look finds them, and what a Pod of it counts as."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairway.api.objects import Node, OwnerReference, Pod
from fairway.api.resources import PODS
from fairway.controllers.bounds import scaled
from fairway.controllers.daemonset.placement import REVISION_LABEL, new_pod, node_of, runs_on
from fairway.controllers.pods import is_available, is_terminal, is_terminating
from fairway.controllers.workloads import DaemonSet, RollingUpdate
from fairway.controllers.writes import Create, Delete


@dataclass(frozen=True, slots=True)
class Stage:
    """`pods` by node, the foremost first; `wanted` and `allowed`: where one should be, where it may stay."""

    owner: DaemonSet
    reference: OwnerReference
    pods: Mapping[str, Sequence[Pod]]
    nodes: frozenset[str]
    wanted: Sequence[str]
    allowed: frozenset[str]
    revision: str
    now: float

    @property
    def max_surge(self) -> int:
        rolling = self._rolling_update
        return scaled(rolling.max_surge or 0, len(self.wanted), up=True) if rolling else 0

    @property
    def max_unavailable(self) -> int:
        """Never zero together with the surge, or nothing could ever move."""
        rolling = self._rolling_update
        value = rolling.max_unavailable if rolling and rolling.max_unavailable is not None else 1
        return scaled(value, len(self.wanted), up=True) or (0 if self.max_surge else 1)

    @property
    def surges(self) -> bool:
        """Whether two Pods may share a node for a while, however few nodes there are."""
        rolling = self._rolling_update
        return bool(rolling and scaled(rolling.max_surge or 0, 1, up=True))

    @property
    def _rolling_update(self) -> RollingUpdate | None:
        strategy = self.owner.spec.update_strategy
        return strategy.rolling_update if strategy.type == "RollingUpdate" else None

    def is_new(self, pod: Pod) -> bool:
        return pod.metadata.label(REVISION_LABEL) == self.revision

    def is_available(self, pod: Pod) -> bool:
        return is_available(pod, self.owner.spec.min_ready_seconds, self.now)

    def make(self, node: str) -> Create:
        return new_pod(self.owner, self.reference, node, self.revision)


def stage(
    owner: DaemonSet,
    reference: OwnerReference,
    pods: Iterable[Pod],
    nodes: Iterable[Node],
    revision: str,
    now: float,
) -> Stage:
    by_node: dict[str, list[Pod]] = {}
    for pod in sorted(pods, key=_rank):
        if not (is_terminal(pod) and is_terminating(pod)):  # all but gone, it holds no place any more
            by_node.setdefault(node_of(pod), []).append(pod)
    fits = {node.metadata.name: runs_on(owner, node) for node in nodes}
    wanted = sorted(name for name, (start, _) in fits.items() if start)
    allowed = frozenset(name for name, (_, stay) in fits.items() if stay)
    return Stage(owner, reference, by_node, frozenset(fits), wanted, allowed, revision, now)


def remove(pod: Pod) -> Delete:
    return Delete(PODS, pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def _rank(pod: Pod) -> tuple[bool, str, str]:
    return not pod.spec.node_name, pod.metadata.creation_timestamp or "", pod.metadata.name
