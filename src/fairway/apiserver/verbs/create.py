"""POST of a new object."""

from __future__ import annotations

from fairway.api.errors import bad_request
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.commit import Written
from fairway.apiserver.decode import decode_object, drop_repeated_owners
from fairway.apiserver.options import check_writing
from fairway.apiserver.respond import entry_answer, object_answer
from fairway.httpserver import Response


def written_answer(call: Call, written: Written, status: int = 200) -> Response:
    call.warnings += written.warnings
    if written.entry is not None:
        return entry_answer(call, written.entry, status)
    return object_answer(call, written.obj, status)


async def create(api: Api, call: Call) -> Response:
    check_writing(call)
    obj = decode_object(call)
    if obj["metadata"].get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    drop_repeated_owners(call, obj)
    written = await api.committer.create(
        call.kind, obj, call.namespace, manager=call.manager, dry_run=call.dry_run
    )
    return written_answer(call, written, 201)
