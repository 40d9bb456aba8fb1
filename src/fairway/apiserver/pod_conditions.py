"""Conditions of a Pod, set by the server itself. Pure."""

from __future__ import annotations

from fairway.api.kind import Obj


def set_condition(pod: Obj, condition: Obj, now: str) -> None:
    """Add a condition or bring it up to date; the time of its last change is kept if its status is the
    same."""
    conditions = pod.setdefault("status", {}).setdefault("conditions", [])
    full = {"lastProbeTime": None, "lastTransitionTime": now, **condition}
    for index, known in enumerate(conditions):
        if known.get("type") == condition["type"]:
            if known.get("status") == condition["status"]:
                full["lastTransitionTime"] = known.get("lastTransitionTime")
            conditions[index] = full
            return
    conditions.append(full)


def is_ready(pod: Obj) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
