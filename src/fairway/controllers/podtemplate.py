"""The Pod that a workload's template makes."""

from __future__ import annotations

from typing import Any

from fairway.api.objects import OwnerReference
from fairway.api.resources import PODS
from fairway.controllers.workloads import Template
from fairway.controllers.writes import Create


def pod_from(template: Template, owner: OwnerReference, namespace: str, *, name: str = "") -> Create:
    """With a name of its own, or one generated from the owner's."""
    given = template.get("metadata") or {}
    naming = {"name": name} if name else {"generateName": f"{owner.name}-"}
    metadata: dict[str, Any] = {**naming, "namespace": namespace, "ownerReferences": [owner]}
    for field in ("labels", "annotations", "finalizers"):
        if given.get(field):
            metadata[field] = given[field]
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}
    return Create(PODS, namespace, body)
