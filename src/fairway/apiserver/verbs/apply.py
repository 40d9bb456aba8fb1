"""PATCH with application/apply-patch+yaml: the object as its manager wants it, made if it does not exist."""

from __future__ import annotations

from fairway.api.apply import Application, zero
from fairway.api.apply import apply as applied
from fairway.api.errors import conflict, not_found
from fairway.api.kind import Kind, Obj
from fairway.api.metadata import timestamp
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.commit import ATTEMPTS, Written
from fairway.apiserver.decode import (
    check_place,
    conform_applied,
    decode_configuration,
    drop_repeated_owners,
)
from fairway.apiserver.parts import Part, part_of
from fairway.apiserver.tracking import keep_idle_times
from fairway.apiserver.verbs.create import written_answer
from fairway.httpserver import Response


async def apply(api: Api, call: Call, part: Part | None = None) -> Response:
    configuration = decode_configuration(call)
    part = part or part_of(call.subresource)
    for _ in range(ATTEMPTS):
        if call.key in api.store.bucket(call.kind.resource).entries:
            return written_answer(call, await _update(api, call, part, configuration))
        if call.subresource:
            raise not_found(call.kind.resource, call.name)
        written = await _create(api, call, part, configuration)
        if written is not None:
            return written_answer(call, written, 201)
        await api.store.advance()
    raise conflict(call.kind.resource, call.name)


def application(api: Api, call: Call, part: Part, configuration: Obj) -> Application:
    return Application(
        call.kind.resource,
        configuration,
        call.params["fieldManager"],
        timestamp(api.committer.clock()),
        call.flag("force"),
        part.subresource,
        part.ignored(call.kind),
    )


async def _update(api: Api, call: Call, part: Part, configuration: Obj) -> Written:
    kind = call.kind

    def change(old: Obj) -> Obj:
        shown = kind.face.outward(old) if kind.face else old
        new = applied(application(api, call, part, configuration), shown)
        return _inward(call, new)

    def note(kind: Kind, part: Part, new: Obj, old: Obj, now: str) -> None:
        keep_idle_times(new, old)

    return await api.committer.update(kind, call.key, change, part=part, track=note, dry_run=call.dry_run)


def _inward(call: Call, new: Obj) -> Obj:
    new = conform_applied(call, new)
    check_place(call, new["metadata"], call.kind.resource)
    drop_repeated_owners(call, new)
    return call.kind.face.inward(new) if call.kind.face else new


async def _create(api: Api, call: Call, part: Part, configuration: Obj) -> Written | None:
    """None if someone else made the object meanwhile."""
    new = applied(application(api, call, part, configuration), zero(call.kind.resource))
    if uid := new["metadata"].get("uid"):
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(call.kind.resource, call.name, why)
    obj = _inward(call, new)
    try:
        return await api.committer.create(call.kind, obj, call.namespace, manager=None, dry_run=call.dry_run)
    except Exception as error:
        if getattr(error, "reason", "") == "AlreadyExists":
            return None
        raise
