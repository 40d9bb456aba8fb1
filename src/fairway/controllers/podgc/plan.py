"""Which Pods to remove for good."""

from __future__ import annotations

from collections.abc import Iterable

from fairway.api.objects import Pod
from fairway.api.resources import PODS
from fairway.controllers.pods import is_terminal, is_terminating
from fairway.controllers.writes import Delete

MAX_ENDED = 12_500


def ended_for_long(pods: Iterable[Pod], limit: int = MAX_ENDED) -> list[Delete]:
    """The oldest ended Pods beyond the limit; a cluster keeps some to look at, or all with a limit of 0."""
    if limit <= 0:
        return []
    ended = sorted((p for p in pods if is_terminal(p)), key=lambda p: p.metadata.creation_timestamp or "")
    return [_at_once(pod) for pod in ended[: max(0, len(ended) - limit)]]


def never_started(pods: Iterable[Pod]) -> list[Delete]:
    """Deleted before they got a node: there is no agent that would report their end."""
    return [_at_once(pod) for pod in pods if is_terminating(pod) and not pod.spec.node_name]


def on_lost_nodes(pods: Iterable[Pod], lost: Iterable[str]) -> list[Delete]:
    gone = frozenset(lost)
    return [_at_once(pod) for pod in pods if pod.spec.node_name in gone]


def _at_once(pod: Pod) -> Delete:
    meta = pod.metadata
    return Delete(PODS, meta.namespace, meta.name, meta.uid, grace_period_seconds=0)
