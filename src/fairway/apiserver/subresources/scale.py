"""The scale subresource: a workload's replicas, read and written without knowing the workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from fairway.api.apply import Application, scale_owners, track_update, workload_owners
from fairway.api.apply import apply as applied
from fairway.api.kind import Kind, Obj
from fairway.api.metadata import timestamp
from fairway.api.patches import decode_patch
from fairway.api.resources import Resource
from fairway.api.validation.fields import invalid
from fairway.api.validation.values import validate_non_negative
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import (
    check_place,
    conform_applied,
    conform_patched,
    decode_configuration,
    decode_object,
)
from fairway.apiserver.options import APPLY, check_writing
from fairway.apiserver.parts import MAIN
from fairway.apiserver.respond import object_answer
from fairway.apiserver.tracking import note_nothing
from fairway.apiserver.verbs.get import found
from fairway.apiserver.verbs.patch import STRATEGIC, complaints, patch_type, patched
from fairway.apiserver.verbs.update import uid_mismatch
from fairway.httpserver import Response

SCALE = Resource("autoscaling", "v1", "scales", "Scale")
SCALE_KIND = Kind(SCALE)
SCALE_PART = replace(MAIN, subresource="scale")

Wanted = Callable[[Obj], Obj]


async def scale(api: Api, call: Call) -> Response:
    if call.verb == "get":
        return object_answer(call, scale_of(call, found(api, call).obj()), resource=SCALE)
    now = timestamp(api.committer.clock())
    if call.verb == "update":
        check_writing(call)
        return await _set(api, call, partial(_put, call, now))
    media = patch_type(call)
    check_writing(call, media)
    if media == APPLY:
        return await _set(api, call, partial(_applied, call, now))
    return await _set(api, call, partial(_patched, call, now, media))


def scale_of(call: Call, workload: Obj) -> Obj:
    assert call.kind.scale is not None
    metadata = workload["metadata"]
    wanted = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Obj = {"replicas": (workload.get("status") or {}).get("replicas", 0)}
    if selector := call.kind.scale.selector(workload):
        status["selector"] = selector
    replicas = (workload.get("spec") or {}).get("replicas", 0)
    return {
        "metadata": {name: metadata[name] for name in wanted if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


async def _set(api: Api, call: Call, wanted: Wanted) -> Response:
    """Write the replicas that a client wants, and who owns them then, into the workload."""
    kind = call.kind
    version = kind.resource.api_version

    def change(workload: Obj) -> Obj:
        current = scale_of(call, workload)
        entries = workload["metadata"].get("managedFields")
        current["metadata"]["managedFields"] = scale_owners(entries, version)
        asked = wanted(current)
        _refuse_invalid(call, asked)
        workload["spec"]["replicas"] = (asked.get("spec") or {}).get("replicas", 0)
        workload["metadata"]["resourceVersion"] = asked["metadata"].get("resourceVersion", "")
        owners = workload_owners(entries, asked["metadata"].get("managedFields"), version)
        workload["metadata"]["managedFields"] = owners
        if not owners:
            del workload["metadata"]["managedFields"]
        return workload

    written = await api.committer.update(
        kind, call.key, change, part=SCALE_PART, track=note_nothing, dry_run=call.dry_run
    )
    call.warnings += written.warnings
    obj = written.entry.obj() if written.entry else written.obj
    return object_answer(call, scale_of(call, obj), resource=SCALE)


def _refuse_invalid(call: Call, asked: Obj) -> None:
    replicas = (asked.get("spec") or {}).get("replicas", 0)
    if errors := validate_non_negative("spec.replicas", replicas):
        raise invalid("Scale", "autoscaling", call.name, errors)


def _put(call: Call, now: str, current: Obj) -> Obj:
    asked = decode_object(call, SCALE)
    uid = asked["metadata"].get("uid")
    if uid and uid != current["metadata"]["uid"]:
        raise uid_mismatch(call, uid, current["metadata"]["uid"])
    return _tracked(call, now, asked, current)


def _patched(call: Call, now: str, media: str, current: Obj) -> Obj:
    body = decode_patch(call.request.body)
    whole = {"kind": "Scale", "apiVersion": SCALE.api_version, **current}
    result: Any = patched(media, SCALE_KIND, whole, body)
    as_scale = replace(call, kind=SCALE_KIND)
    strategic = body if media == STRATEGIC else None
    asked = conform_patched(as_scale, result, strategic, complaints(call, media, body))
    check_place(call, asked["metadata"], SCALE)
    return _tracked(call, now, asked, current)


def _tracked(call: Call, now: str, asked: Obj, current: Obj) -> Obj:
    track_update(SCALE, asked, current, call.manager, now, {}, "scale")
    return asked


def _applied(call: Call, now: str, current: Obj) -> Obj:
    configuration = decode_configuration(call)
    application = Application(
        SCALE, configuration, call.params["fieldManager"], now, call.flag("force"), "scale"
    )
    asked = conform_applied(replace(call, kind=SCALE_KIND), applied(application, current))
    check_place(call, asked["metadata"], SCALE)
    return asked
