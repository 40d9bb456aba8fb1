"""pods/ephemeralcontainers: containers added to a running Pod to look at it (`kubectl debug`), and nothing
else."""

from __future__ import annotations

from fairway.api.kind import Kind, Obj
from fairway.api.kinds.pod.ephemeral import validate_ephemeral_update
from fairway.api.validation.fields import ErrorList
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import decode_object
from fairway.apiserver.options import APPLY, check_writing
from fairway.apiserver.parts import Part
from fairway.apiserver.respond import entry_answer
from fairway.apiserver.tracking import noted_as
from fairway.apiserver.verbs.apply import apply
from fairway.apiserver.verbs.create import written_answer
from fairway.apiserver.verbs.get import found
from fairway.apiserver.verbs.patch import patch_type, patcher
from fairway.httpserver import Response

FIELD = "ephemeralContainers"


def _only_ephemeral(kind: Kind, new: Obj, old: Obj) -> None:
    wanted = (new.get("spec") or {}).get(FIELD)
    spec = {name: value for name, value in old["spec"].items() if name != FIELD}
    new["spec"] = {**spec, FIELD: wanted} if wanted else spec
    new["status"] = old.get("status", {})
    metadata = {**old["metadata"]}
    if "managedFields" in new["metadata"]:
        metadata["managedFields"] = new["metadata"]["managedFields"]
    new["metadata"] = metadata


def _validate(kind: Kind, new: Obj, old: Obj) -> ErrorList:
    return validate_ephemeral_update(new, old)


EPHEMERAL = Part(FIELD.lower(), _only_ephemeral, _validate, changes_desired=True)


async def ephemeral_containers(api: Api, call: Call) -> Response:
    if call.verb == "get":
        return entry_answer(call, found(api, call))
    media = patch_type(call) if call.verb == "patch" else ""
    check_writing(call, media)
    if media == APPLY:
        return await apply(api, call, EPHEMERAL)
    change = patcher(call, media) if media else lambda old: decode_object(call)
    written = await api.committer.update(
        call.kind, call.key, change, part=EPHEMERAL, track=noted_as(call.manager), dry_run=call.dry_run
    )
    return written_answer(call, written)
