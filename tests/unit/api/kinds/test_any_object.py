"""Whatever decodes is judged: no object, however odd, makes a rule fail with anything but a refusal."""

from __future__ import annotations

import base64
import copy
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from fairway.api.errors import StatusError
from fairway.api.kind import Kind
from fairway.api.kinds import ALL
from fairway.api.kinds.pod.admission import add_default_tolerations, check_runtime_class, set_priority
from fairway.api.kinds.pod.service_account import limit_secrets, mirror_fault, mount_token
from fairway.api.resources import PODS
from fairway.api.schema.conform import conform
from fairway.api.schema.shape import shape_named, shape_of

Obj = dict[str, Any]
ROUNDS = 60
DEPTH = 9
WORDS = (
    *("", "a", "a.b/c", "A_", "a b", "..", "/x", "80", "1%", "$(a)", "é", "x" * 300),
    *("10.0.0.1", "fd00::1", "10.0.0.0/24", "metadata.name", "metadata.labels['a']", "limits.cpu"),
    *("Always", "None", "Localhost", "localhost/x", "default", "Exists", "In", "TCP"),
    *("linux", "windows", "ClusterFirst", "RollingUpdate"),
)
AMOUNTS = ("0", "1", "-1", "1500m", "1Gi", "0.1", "3n")
NUMBERS = (0, 1, -1, 5, 80, 70000, 2**31 - 1, -(2**31))
STORED = [kind for kind in ALL if kind.stored]


def any_value(random: Random, code: str, depth: int) -> Any:
    if random.random() < 0.04:
        return None
    if code.startswith("[]"):
        return [any_value(random, code[2:], depth) for _ in range(random.choice((0, 1, 1, 2)))]
    if code.startswith("{}"):
        return {
            random.choice(WORDS): any_value(random, code[2:], depth) for _ in range(random.choice((0, 1, 2)))
        }
    if code.startswith("&"):
        return any_struct(random, code[1:], depth - 1)
    match code:
        case "string":
            return random.choice(WORDS)
        case "int32" | "int64" | "double":
            return random.choice(NUMBERS)
        case "bool":
            return random.random() < 0.5
        case "bytes":
            return base64.b64encode(random.choice(WORDS).encode()).decode()
        case "time":
            return "2026-01-01T00:00:00Z"
        case "microtime":
            return "2026-01-01T00:00:00.000000Z"
        case "quantity":
            return random.choice(AMOUNTS)
        case "intstr":
            return random.choice((*NUMBERS[:5], *WORDS[:8]))
    return {"a": random.choice(WORDS)}


def any_struct(random: Random, name: str, depth: int) -> Obj:
    if depth <= 0:
        return {}
    share = random.choice((0.15, 0.5, 0.9))
    fields = shape_named(name).fields.values()
    return {field.name: any_value(random, field.type, depth) for field in fields if random.random() < share}


def any_object(random: Random, kind: Kind) -> Obj:
    version, name = kind.resource.api_version, kind.resource.kind
    shape = shape_of(version, name)
    metadata = {
        "name": "a",
        "namespace": "ns",
        "annotations": any_value(random, "{}string", 1),
        "labels": {"a": "b"},
    }
    rest = {field.name: any_value(random, field.type, DEPTH) for field in shape.fields.values()}
    obj = {**rest, "apiVersion": version, "kind": name, "metadata": metadata}
    return conform(obj, shape)[0]


def admit(pod: Obj) -> None:
    """What admission does to Pods, whatever it is turned down for."""
    for plugin in (set_priority, check_runtime_class):
        with suppress(StatusError):
            plugin(pod)
    account = {"metadata": {"name": "a", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}}
    mirror_fault(pod["spec"])
    limit_secrets(account, pod["spec"])
    add_default_tolerations(pod["spec"])
    mount_token(pod["spec"])


def create(kind: Kind, obj: Obj) -> None:
    kind.default(obj)
    if kind.resource == PODS:
        admit(obj)
    kind.prepare_create(obj)
    for error in kind.validate(obj):
        assert error.message()
    assert all(kind.warnings(obj))


def update(kind: Kind, new: Obj, old: Obj) -> None:
    kind.default(new)
    kind.prepare_update(new, old)
    for error in kind.validate_update(new, old):
        assert error.message()
    if kind.update_warnings:
        assert all(kind.update_warnings(new, old))
    if kind.status:
        kind.status.prepare_update(new, old)
        for error in kind.status.validate_update(new, old):
            assert error.message()


@pytest.mark.parametrize("kind", STORED, ids=lambda kind: kind.resource.qualified)
def test_no_object_breaks_a_rule(kind: Kind) -> None:
    random = Random(kind.resource.qualified)
    for _ in range(ROUNDS):
        old, new = any_object(random, kind), any_object(random, kind)
        create(kind, old)
        update(kind, copy.deepcopy(old), old)
        update(kind, new, old)
        changed = copy.deepcopy(old)
        changed["spec"] = {**(old.get("spec") or {}), **(any_object(random, kind).get("spec") or {})}
        update(kind, changed, old)
