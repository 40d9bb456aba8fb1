"""namespaces/finalize: how a namespace's last holder lets go of it."""

from __future__ import annotations

from fairway.api.errors import method_not_allowed
from fairway.api.kind import Kind, Obj
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import decode_object
from fairway.apiserver.verbs.create import written_answer
from fairway.httpserver import Response


def _only_finalizers(kind: Kind, new: Obj, old: Obj) -> None:
    new["status"] = old.get("status", {})
    new.setdefault("spec", {})


async def finalize(api: Api, call: Call) -> Response:
    if call.verb != "update":
        raise method_not_allowed()
    written = await api.committer.update(
        call.kind,
        call.key,
        lambda old: decode_object(call),
        prepare=_only_finalizers,
        validate=lambda new, old: [],
        dry_run=call.dry_run,
    )
    return written_answer(call, written)
