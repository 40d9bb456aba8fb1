"""Pods for the tests, as the API server has them when it judges them."""

from __future__ import annotations

import copy
from typing import Any

from fairway.api.kinds.pod import POD
from fairway.api.schema.conform import conform
from fairway.api.schema.shape import shape_of

Obj = dict[str, Any]


def container(name: str = "c", **fields: Any) -> Obj:
    return {"name": name, "image": "nginx:1.27", **fields}


def sent(metadata: Obj | None = None, **spec: Any) -> Obj:
    """A Pod as it arrives: typed, but nothing filled in."""
    obj: Obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns", **(metadata or {})},
        "spec": {"containers": [container()], **spec},
    }
    return conform(obj, shape_of("v1", "Pod"))[0]


def pod(metadata: Obj | None = None, **spec: Any) -> Obj:
    obj = sent(metadata, **spec)
    POD.default(obj)
    POD.prepare_create(obj)
    return obj


def with_container(**fields: Any) -> Obj:
    return pod(containers=[container(**fields)])


def messages(obj: Obj) -> list[str]:
    return [error.message() for error in POD.validate(obj)]


def changed(old: Obj, **spec: Any) -> Obj:
    """The Pod with fields of its spec replaced; None takes one out."""
    new = copy.deepcopy(old)
    new["spec"] = {name: value for name, value in (new["spec"] | spec).items() if value is not None}
    POD.default(new)
    return new


def update_messages(new: Obj, old: Obj) -> list[str]:
    new = copy.deepcopy(new)
    POD.prepare_update(new, old)
    return [error.message() for error in POD.validate_update(new, old)]
