"""Which replicas to remove first when there are too many.

The order is Kubernetes': what serves nobody yet goes before what does, then cheap before dear, crowded before
lone, young before old.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from fairway.api.objects import Pod
from fairway.api.timestamps import seconds
from fairway.controllers.pods import is_active, is_ready, ready_since, restarts

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}

Rank = tuple[bool, int, bool, int, int, int, int, int, str]


def in_order_of_removal(pods: Iterable[Pod], related: Iterable[Pod], now: float) -> list[Pod]:
    """`related`: Pods of sibling ReplicaSets too, for telling which node is crowded."""
    crowd = Counter(pod.spec.node_name for pod in related if is_active(pod) and pod.spec.node_name)
    return sorted(pods, key=lambda pod: _rank(pod, crowd, now))


def _rank(pod: Pod, crowd: Counter[str], now: float) -> Rank:
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        is_ready(pod),
        _cost(pod),
        -crowd[pod.spec.node_name],
        _age(ready_since(pod), now) if is_ready(pod) else 0,
        -restarts(pod),
        _age(seconds(pod.metadata.creation_timestamp), now),
        pod.metadata.uid,
    )


def _cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotation(DELETION_COST, "0"))
    except ValueError:
        return 0


def _age(since: float | None, now: float) -> int:
    """Ages within a factor of two count as the same, so that it is not always the youngest that goes."""
    return -1 if since is None or now <= since else int(math.log2((now - since) * 1e9))
