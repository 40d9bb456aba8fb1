"""What is left to do before a namespace can go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.api.resources import NAMESPACES
from fairway.api.timestamps import stamp
from fairway.controllers.namespaces import Namespace, is_active
from fairway.controllers.writes import Patch

FINALIZER = "kubernetes"


def is_held(namespace: Namespace) -> bool:
    """It is to go, and we still hold it."""
    return not is_active(namespace) and FINALIZER in (namespace.spec.finalizers or ())


def without_finalizer(namespace: dict[str, Any]) -> dict[str, Any]:
    """The body for `/finalize`: the whole namespace, no longer held by us."""
    spec = namespace.get("spec") or {}
    kept = [name for name in spec.get("finalizers") or () if name != FINALIZER]
    return {**namespace, "spec": {**spec, "finalizers": kept}}


def remaining_condition(namespace: Namespace, left: Mapping[str, int], now: float) -> Patch:
    """Says what the deletion waits for, in Kubernetes' words; only written when it has to wait."""
    listed = ", ".join(f"{plural} has {count} resource instances" for plural, count in sorted(left.items()))
    condition = {
        "type": "NamespaceContentRemaining",
        "status": "True",
        "reason": "SomeResourcesRemain",
        "message": f"Some resources are remaining: {listed}",
        "lastTransitionTime": stamp(now),
    }
    meta = namespace.metadata
    return Patch(NAMESPACES, "", meta.name, {"status": {"conditions": [condition]}}, "status")
