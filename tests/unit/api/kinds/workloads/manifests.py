"""Workloads for the tests, as the API server has them when it judges them."""

from __future__ import annotations

import copy
from typing import Any

from fairway.api.kind import Kind
from fairway.api.schema.conform import conform
from fairway.api.schema.shape import shape_of

Obj = dict[str, Any]
LABELS = {"app": "a"}


def template(**spec: Any) -> Obj:
    containers = [{"name": "c", "image": "nginx:1.27"}]
    return {"metadata": {"labels": dict(LABELS)}, "spec": {"containers": containers, **spec}}


def workload(kind: Kind, **spec: Any) -> Obj:
    """A valid one with fields of its spec replaced; None leaves one out."""
    selector = LABELS if kind.resource.kind == "ReplicationController" else {"matchLabels": LABELS}
    fields = {"selector": selector, "template": template()} | spec
    obj: Obj = {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": {"name": "w", "namespace": "ns"},
        "spec": {name: value for name, value in fields.items() if value is not None},
    }
    obj = conform(copy.deepcopy(obj), shape_of(kind.resource.api_version, kind.resource.kind))[0]
    kind.default(obj)
    kind.prepare_create(obj)
    return obj


def messages(kind: Kind, **spec: Any) -> list[str]:
    return [error.message() for error in kind.validate(workload(kind, **spec))]


def update_messages(kind: Kind, old: Obj, **spec: Any) -> list[str]:
    new = copy.deepcopy(old)
    new["spec"] |= spec
    kind.default(new)
    kind.prepare_update(new, old)
    return [error.message() for error in kind.validate_update(new, old)]


def status_messages(kind: Kind, before: Obj, after: Obj) -> list[str]:
    assert kind.status is not None
    old = workload(kind) | {"status": before}
    new = copy.deepcopy(old) | {"status": after}
    return [error.message() for error in kind.status.validate_update(new, old)]
