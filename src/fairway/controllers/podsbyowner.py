"""Pods found by who controls them, and the wake-up calls their changes mean for those who do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairway.api.objects import ObjectMeta, Pod
from fairway.api.resources import PODS, Resource
from fairway.controllers.cluster import Cluster
from fairway.controllers.owners import controller_of


class PodsByOwner:
    """Pods by the uid of their controller; those without one by their namespace."""

    def __init__(self, cluster: Cluster) -> None:
        self._look_up = cluster.cache(PODS, Pod).index(_owner)

    def owned(self, uid: str) -> list[Pod]:
        return self._look_up(uid)

    def candidates(self, owner: ObjectMeta) -> list[Pod]:
        """What an owner has to look at: its own Pods, and orphans it might adopt."""
        return [*self.owned(owner.uid), *self._look_up(_orphans(owner.namespace))]


def follow_pods(
    cluster: Cluster, kind: Resource, add: Callable[[str], None], adopters: Callable[[Pod], list[str]]
) -> None:
    """Calls `add` with the keys of those owners of `kind` whom a change of a Pod concerns.

    `adopters` names the owners whose selector matches a Pod that has no controller.
    """

    def changed(_key: str, old: Pod | None, new: Pod | None) -> None:
        if old is not None and new is not None and _concerns(old) == _concerns(new):
            return
        for pod in (old, new):
            owner = controller_of(pod.metadata) if pod is not None else None
            if pod is not None and owner is not None and owner.kind == kind.kind:
                add(f"{pod.metadata.namespace}/{owner.name}")
        if new is not None and controller_of(new.metadata) is None:
            for key in adopters(new):
                add(key)

    cluster.cache(PODS, Pod).on_change(changed)


def _concerns(pod: Pod) -> tuple[object, ...]:
    """What owners count and select by. Being scheduled, or an address, changes nothing for them."""
    ready = pod.status.condition("Ready")
    return (
        pod.metadata.uid,
        pod.metadata.labels,
        pod.metadata.owner_references,
        pod.metadata.deletion_timestamp is None,
        pod.status.phase,
        ready and (ready.status, ready.last_transition_time),
    )


def _owner(pod: Pod) -> Iterator[str]:
    owner = controller_of(pod.metadata)
    yield owner.uid if owner else _orphans(pod.metadata.namespace)


def _orphans(namespace: str) -> str:
    return f"orphans of {namespace}"
