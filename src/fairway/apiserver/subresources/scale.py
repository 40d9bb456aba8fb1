"""The scale subresource: a workload's replicas, read and written without knowing the workload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairway.api.errors import bad_request, conflict, method_not_allowed
from fairway.api.kind import Obj
from fairway.api.patches import decode_patch, json_patch, merge_patch
from fairway.api.resources import Resource
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import decode_object, media_type
from fairway.apiserver.encoding import encode
from fairway.apiserver.verbs.get import found
from fairway.apiserver.verbs.patch import JSON
from fairway.apiserver.verbs.update import prepare_main, validate_main
from fairway.httpserver import Response

SCALE = Resource("autoscaling", "v1", "scales", "Scale")


def scale_of(call: Call, workload: Obj) -> Obj:
    assert call.kind.scale is not None
    metadata = workload["metadata"]
    wanted = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Obj = {"replicas": (workload.get("status") or {}).get("replicas", 0)}
    if selector := call.kind.scale.selector(workload):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in wanted if name in metadata},
        "spec": _spec_of((workload.get("spec") or {}).get("replicas", 0)),
        "status": status,
    }


def _spec_of(replicas: int) -> Obj:
    return {"replicas": replicas} if replicas else {}


async def scale(api: Api, call: Call) -> Response:
    if call.verb == "get":
        return Response(200, encode(scale_of(call, found(api, call).obj())))
    if call.verb == "update":
        wanted = decode_object(call, SCALE)
        return await _set(api, call, lambda current: wanted)
    if call.verb == "patch":
        return await _patch(api, call)
    raise method_not_allowed()


async def _patch(api: Api, call: Call) -> Response:
    media = media_type(call)
    body = decode_patch(call.request.body)
    if media == JSON:
        return await _set(api, call, lambda current: json_patch(current, body))
    return await _set(api, call, lambda current: merge_patch(current, body))


async def _set(api: Api, call: Call, wanted: Callable[[Obj], Any]) -> Response:
    def change(workload: Obj) -> Obj:
        asked = wanted(scale_of(call, workload))
        version = (asked.get("metadata") or {}).get("resourceVersion")
        if version and version != workload["metadata"]["resourceVersion"]:
            raise conflict(call.kind.resource, call.name)
        replicas = (asked.get("spec") or {}).get("replicas", 0)
        if not isinstance(replicas, int) or replicas < 0:
            raise bad_request(f"spec.replicas: Invalid value: {replicas}: must be greater than or equal to 0")
        workload["spec"]["replicas"] = replicas
        return workload

    kind = call.kind
    written = await api.committer.update(
        kind,
        call.key,
        change,
        prepare=prepare_main,
        validate=lambda new, old: validate_main(kind, new, old),
        dry_run=call.dry_run,
    )
    obj = written.entry.obj() if written.entry else written.obj
    return Response(200, encode(scale_of(call, obj)))
