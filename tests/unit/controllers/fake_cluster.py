"""An API server in memory whose watches are late: events reach the caches only when a test delivers them."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable
from typing import Any

import msgspec

from fairway.api.objects import ObjectMeta
from fairway.api.resources import Resource
from fairway.client import AlreadyExists, Conflict, NotFound, Unavailable
from fairway.controllers.cluster import Cluster

from .objects import NOW


class LateInformer:
    """Shows what was delivered to it, no more."""

    def __init__(self, client: FakeClient, resource: Resource, *, type: Any, **_options: Any) -> None:  # noqa: A002
        self.resource_version = 0
        self._type = type
        self._items: dict[str, Any] = {}
        self._handlers: list[Callable[[str, Any, Any], object]] = []
        client.informers.setdefault(resource, []).append(self)

    def get(self, key: str) -> Any:
        return self._items.get(key)

    def keep(self, key: str, twin: Any) -> None:
        self._items[key] = twin

    def on_change(self, callback: Callable[[str, Any, Any], object]) -> None:
        self._handlers.append(callback)

    def deliver(self, key: str, obj: dict[str, Any] | None, revision: int) -> None:
        old = self._items.pop(key, None)
        new = msgspec.convert(obj, self._type) if obj is not None else None
        if new is not None:
            self._items[key] = new
        self.resource_version = max(self.resource_version, revision)
        for handler in self._handlers:
            handler(key, old, new)


class FakeClient:
    """The few calls controllers make. `objects` is the truth; `pending` are events nobody has seen yet."""

    def __init__(self) -> None:
        self.objects: dict[tuple[Resource, str], dict[str, Any]] = {}
        self.informers: dict[Resource, list[LateInformer]] = {}
        self.pending: list[tuple[Resource, str, dict[str, Any] | None, int]] = []
        self.calls: list[str] = []
        self.away = False
        self._numbers = itertools.count(100)

    async def create(self, resource: Resource, obj: Any, **options: Any) -> Any:
        body = msgspec.to_builtins(obj)
        meta = body["metadata"]
        number = next(self._numbers)
        meta.setdefault("name", f"{meta.get('generateName', '')}{number}")
        if options.get("subresource"):
            self.calls.append(f"{options['subresource']} {options['name']}")
            return self._bind(resource, meta, body)
        self.calls.append(f"create {resource.plural} {meta['name']}")
        key = _key(meta)
        if (resource, key) in self.objects:
            raise AlreadyExists(409, "AlreadyExists", f"{key} already exists")
        meta.setdefault("uid", f"uid-{number}")
        return self._store(resource, key, body, options.get("type"))

    async def patch(self, resource: Resource, name: str, patch: Any, **options: Any) -> Any:
        self.calls.append(f"patch {resource.plural} {name}")
        key = f"{options['namespace']}/{name}" if options.get("namespace") else name
        old = self._live(resource, key)
        expected = patch.get("metadata", {}).get("resourceVersion")
        if expected and expected != old["metadata"]["resourceVersion"]:
            raise Conflict(409, "Conflict", "the object has been modified")
        return self._store(resource, key, _merged(old, msgspec.to_builtins(patch)), options.get("type"))

    async def delete(self, resource: Resource, name: str, **options: Any) -> dict[str, Any]:
        self.calls.append(f"delete {resource.plural} {name}")
        key = f"{options['namespace']}/{name}" if options.get("namespace") else name
        live = self._live(resource, key)["metadata"]
        for option, field in (("uid", "uid"), ("resource_version", "resourceVersion")):
            if options.get(option) and options[option] != live[field]:
                raise Conflict(409, "Conflict", f"the {field} does not match")
        del self.objects[resource, key]
        self.pending.append((resource, key, None, next(self._numbers)))
        return {"kind": "Status"}

    async def get(self, resource: Resource, name: str, **options: Any) -> Any:
        key = f"{options['namespace']}/{name}" if options.get("namespace") else name
        return msgspec.convert(self._live(resource, key), options.get("type", dict))

    async def list(self, resource: Resource, **_options: Any) -> builtins.list[dict[str, Any]]:
        if self.away:
            raise Unavailable(0, "Unreachable", "nobody answers")
        return self.all(resource)

    # ---- for tests ----

    def put(self, resource: Resource, obj: dict[str, Any]) -> None:
        """Someone else writes."""
        obj["metadata"].setdefault("uid", f"uid-{obj['metadata']['name']}")
        self._store(resource, _key(obj["metadata"]), obj, None)

    def deliver(self) -> None:
        """Everything written so far reaches the caches."""
        events, self.pending = self.pending, []
        for resource, key, obj, revision in events:
            for informer in self.informers.get(resource, ()):
                informer.deliver(key, obj, revision)

    def all(self, resource: Resource) -> builtins.list[dict[str, Any]]:
        return [obj for (kind, _), obj in self.objects.items() if kind == resource]

    def _bind(self, resource: Resource, meta: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        key = _key(meta)
        pod = self._live(resource, key)
        if pod["spec"].get("nodeName"):
            raise Conflict(409, "Conflict", "already assigned")
        self._store(resource, key, _merged(pod, {"spec": {"nodeName": body["target"]["name"]}}), None)
        return {"kind": "Status"}

    def _live(self, resource: Resource, key: str) -> dict[str, Any]:
        if (resource, key) not in self.objects:
            raise NotFound(404, "NotFound", f"{key} not found")
        return self.objects[resource, key]

    def _store(self, resource: Resource, key: str, obj: dict[str, Any], type_: Any) -> Any:
        revision = next(self._numbers)
        stored = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}
        self.objects[resource, key] = stored
        self.pending.append((resource, key, stored, revision))
        return msgspec.convert(stored, type_) if type_ is not None else stored


class Recorder:
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def record(self, about: Any, reason: str, message: str, *, kind: str = "Normal") -> None:
        self.reasons.append(reason)


def fake_cluster() -> tuple[Cluster, FakeClient]:
    client = FakeClient()
    return Cluster(client, Recorder(), lambda: NOW, LateInformer), client  # type: ignore[arg-type]


def _key(meta: dict[str, Any]) -> str:
    view = msgspec.convert(meta, ObjectMeta)
    return view.key


def _merged(old: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value)
    return result
