"""namespaces/finalize: how a namespace's last holder lets go of it."""

from __future__ import annotations

from fairway.api.kind import Kind, Obj
from fairway.api.validation.fields import ErrorList
from fairway.api.validation.metadata import validate_qualified_finalizers
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import decode_object
from fairway.apiserver.options import check_writing
from fairway.apiserver.parts import Part
from fairway.apiserver.tracking import noted_as
from fairway.apiserver.verbs.create import written_answer
from fairway.httpserver import Response


def _keep_status(kind: Kind, new: Obj, old: Obj) -> None:
    new["status"] = old.get("status", {})
    new.setdefault("spec", {})


def _validate(kind: Kind, new: Obj, old: Obj) -> ErrorList:
    return validate_qualified_finalizers("spec.finalizers", new["spec"].get("finalizers") or [])


FINALIZE = Part("finalize", _keep_status, _validate)


async def finalize(api: Api, call: Call) -> Response:
    check_writing(call)
    written = await api.committer.update(
        call.kind,
        call.key,
        lambda old: decode_object(call),
        part=FINALIZE,
        track=noted_as(call.manager),
        dry_run=call.dry_run,
    )
    return written_answer(call, written)
