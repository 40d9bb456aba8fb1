"""The verbs of the API as typed calls: get, list, create, update, patch, delete.

Objects go in as dicts or Structs and come out as dicts, or as the `type` asked for, decoded straight from
the answer's bytes. Watching is in `list_watch`; connections and failures are in `transport`.
"""

# ruff: noqa: A002  (`type=` is the published name of the parameter)

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

import msgspec

from fairway.api.resources import Resource
from fairway.client.errors import ApiError
from fairway.client.kubeconfig import KubeConfig
from fairway.client.transport import Transport

T = TypeVar("T")
Json: TypeAlias = dict[str, Any]
Body: TypeAlias = Mapping[str, Any] | msgspec.Struct
PatchKind: TypeAlias = Literal["merge", "strategic", "json", "apply"]

_PATCH_TYPES: Mapping[str, str] = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, Generic[T], frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: list[T] | None = None


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """A consistent view of a collection: `resource_version` is where a watch continues it."""

    items: list[T]
    resource_version: str
    continue_token: str = ""


class Client(Transport):
    """One API server, one identity, any number of concurrent calls."""

    def __init__(self, config: KubeConfig, *, component: str = "client", timeout: float = 30.0) -> None:
        super().__init__(config, component=component, timeout=timeout)
        self._component = component

    @overload
    async def get(
        self, resource: Resource, name: str, *, namespace: str | None = None, subresource: str | None = None
    ) -> Json: ...

    @overload
    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        type: builtins.type[T],
    ) -> T: ...

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        type: Any = Json,
    ) -> Any:
        answer = await self.request("GET", resource.path(namespace, name, subresource))
        return _decode(answer, type)

    @overload
    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int | None = None,
        continue_token: str | None = None,
    ) -> Listing[Json]: ...

    @overload
    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int | None = None,
        continue_token: str | None = None,
        type: builtins.type[T],
    ) -> Listing[T]: ...

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int | None = None,
        continue_token: str | None = None,
        type: Any = Json,
    ) -> Any:
        params = _params(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            limit=limit,
            **{"continue": continue_token},
        )
        answer = await self.request("GET", resource.path(namespace), params=params)
        page = _decode(answer, _List[type])
        return Listing(page.items or [], page.metadata.resource_version, page.metadata.continue_)

    @overload
    async def create(
        self,
        resource: Resource,
        obj: Body,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Json: ...

    @overload
    async def create(
        self,
        resource: Resource,
        obj: Body,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        type: builtins.type[T],
    ) -> T: ...

    async def create(
        self,
        resource: Resource,
        obj: Body,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        type: Any = Json,
    ) -> Any:
        """POST. `namespace` defaults to the object's own; `name` and `subresource` are for e.g. evictions."""
        path = resource.path(namespace or _metadata(obj, "namespace"), name, subresource)
        return await self._write("POST", path, obj, type, dry_run)

    @overload
    async def update(
        self, resource: Resource, obj: Body, *, subresource: str | None = None, dry_run: bool = False
    ) -> Json: ...

    @overload
    async def update(
        self,
        resource: Resource,
        obj: Body,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
        type: builtins.type[T],
    ) -> T: ...

    async def update(
        self,
        resource: Resource,
        obj: Body,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
        type: Any = Json,
    ) -> Any:
        """PUT to where the object's own metadata says it lives."""
        name = _metadata(obj, "name")
        if not name:
            raise ValueError("update needs metadata.name")
        path = resource.path(_metadata(obj, "namespace"), name, subresource)
        return await self._write("PUT", path, obj, type, dry_run)

    @overload
    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Any,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        kind: PatchKind = "merge",
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> Json: ...

    @overload
    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Any,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        kind: PatchKind = "merge",
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        type: builtins.type[T],
    ) -> T: ...

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Any,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        kind: PatchKind = "merge",
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        type: Any = Json,
    ) -> Any:
        """An apply names us as field manager unless told otherwise, because the server demands one."""
        if kind == "apply":
            field_manager = field_manager or f"fairway-{self._component}"
        params = _params(
            fieldManager=field_manager, force="true" if force else None, dryRun="All" if dry_run else None
        )
        answer = await self.request(
            "PATCH",
            resource.path(namespace, name, subresource),
            params=params,
            body=msgspec.json.encode(patch),
            content_type=_PATCH_TYPES[kind],
        )
        return _decode(answer, type)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        grace_period_seconds: int | None = None,
        propagation_policy: Literal["Foreground", "Background", "Orphan"] | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Json:
        """Returns what the server says: the object, or a Status. `uid` guards against a namesake."""
        preconditions = _params(uid=uid, resourceVersion=resource_version)
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "gracePeriodSeconds": grace_period_seconds,
            "propagationPolicy": propagation_policy,
            "preconditions": preconditions or None,
        }
        body = msgspec.json.encode({key: value for key, value in options.items() if value is not None})
        answer = await self.request("DELETE", resource.path(namespace, name), body=body)
        status: Json = _decode(answer, Json)
        return status

    async def _write(self, method: str, path: str, obj: Body, type: Any, dry_run: bool) -> Any:
        params = _params(dryRun="All" if dry_run else None)
        answer = await self.request(method, path, params=params, body=msgspec.json.encode(obj))
        return _decode(answer, type)


def _decode(answer: bytes, type: Any) -> Any:
    try:
        return msgspec.json.decode(answer, type=type)
    except msgspec.MsgspecError as error:
        raise ApiError(200, "InvalidAnswer", f"the server's answer can't be read: {error}") from error


def _params(**values: str | int | None) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None and value != ""}


def _metadata(obj: Body, name: str) -> str | None:
    if isinstance(obj, Mapping):
        return (obj.get("metadata") or {}).get(name)
    return getattr(getattr(obj, "metadata", None), name, None)
