"""What Kubernetes' admission does to a Pod that needs no look at other objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.api.errors import StatusError, forbidden
from fairway.api.kind import Obj
from fairway.api.resources import PODS

TOLERATED: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
TOLERATED_SECONDS: Final = 300
PREEMPTION: Final = "PreemptLowerPriority"
# The two classes that every cluster has.
PRIORITIES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def refused(pod: Obj, why: str) -> StatusError:
    """403; a Pod that has no name yet is named by the prefix of the one it will have."""
    metadata = pod.get("metadata") or {}
    return forbidden(PODS, metadata.get("name") or metadata.get("generateName") or "Unknown", why)


def set_priority(pod: Obj) -> None:
    """A Pod's priority follows from its class and can't be had otherwise."""
    spec = pod["spec"]
    name = spec.get("priorityClassName")
    if name and name not in PRIORITIES:
        raise refused(pod, f"no PriorityClass with name {name} was found")
    priority = PRIORITIES.get(name, 0)
    given, policy = spec.get("priority"), spec.get("preemptionPolicy")
    if given is not None and given != priority:
        raise refused(
            pod,
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission "
            f"controller computed {priority} from the given PriorityClass name",
        )
    if policy is not None and policy != PREEMPTION:
        raise refused(
            pod,
            f"the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; priority "
            f"admission controller computed {PREEMPTION} from the given PriorityClass name",
        )
    spec["priority"], spec["preemptionPolicy"] = priority, PREEMPTION


def add_default_tolerations(spec: Obj, keys: Sequence[str] = TOLERATED) -> None:
    """Every Pod waits five minutes on a node that went away, unless it says otherwise."""
    known = tolerated(spec)
    if missing := [key for key in keys if key not in known]:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *map(_toleration, missing)]


def tolerated(spec: Obj) -> list[str]:
    """Which of the usual taints a Pod has a toleration for."""
    tolerations = spec.get("tolerations") or ()
    return [key for key in TOLERATED if any(_tolerates(each, key) for each in tolerations)]


def _tolerates(toleration: Obj, key: str) -> bool:
    return toleration.get("key", "") in (key, "") and toleration.get("effect", "") in ("NoExecute", "")


def _toleration(key: str) -> Obj:
    return {
        "key": key,
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": TOLERATED_SECONDS,
    }


def check_runtime_class(pod: Obj) -> None:
    """There are no runtime classes here, so none can be asked for."""
    spec = pod["spec"]
    if spec.get("runtimeClassName"):
        raise refused(pod, f'pod rejected: RuntimeClass "{spec["runtimeClassName"]}" not found')
    if spec.get("overhead"):
        raise refused(
            pod, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        )
