"""PUT of a whole object, or of its status."""

from __future__ import annotations

from fairway.api.errors import StatusError, invalid_object, not_found
from fairway.api.kind import Obj
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import decode_object, drop_repeated_owners
from fairway.apiserver.options import check_writing
from fairway.apiserver.parts import part_of
from fairway.apiserver.tracking import noted_as
from fairway.apiserver.verbs.create import written_answer
from fairway.httpserver import Response


async def update(api: Api, call: Call) -> Response:
    check_writing(call)
    kind = call.kind
    wanted = _Wanted(call)
    if call.key not in api.store.bucket(kind.resource).entries:
        return await _create(api, call, wanted)
    written = await api.committer.update(
        kind,
        call.key,
        wanted.over,
        part=part_of(call.subresource),
        track=noted_as(call.manager),
        dry_run=call.dry_run,
    )
    return written_answer(call, written)


async def _create(api: Api, call: Call, wanted: _Wanted) -> Response:
    """Some kinds come to be by PUT."""
    if not call.kind.create_on_update or call.subresource:
        raise not_found(call.kind.resource, call.name)
    obj = wanted.obj()
    if uid := obj["metadata"].get("uid"):
        raise uid_mismatch(call, uid, "")
    written = await api.committer.create(
        call.kind, obj, call.namespace, manager=call.manager, dry_run=call.dry_run
    )
    return written_answer(call, written, 201)


class _Wanted:
    """The object in the body; read once, and again only if another write got in between."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._first: Obj | None = self._read()

    def _read(self) -> Obj:
        obj = decode_object(self._call)
        drop_repeated_owners(self._call, obj)
        return obj

    def obj(self) -> Obj:
        first, self._first = self._first, None
        return first if first is not None else self._read()

    def over(self, old: Obj) -> Obj:
        """A client that names a uid means that object and no other."""
        obj = self.obj()
        uid = obj["metadata"].get("uid")
        if uid and uid != old["metadata"]["uid"]:
            raise uid_mismatch(self._call, uid, old["metadata"]["uid"])
        return obj


def uid_mismatch(call: Call, asked: str, actual: str) -> StatusError:
    why = f"Precondition failed: UID in precondition: {asked}, UID in object meta: {actual}"
    return invalid_object(call.kind.resource, call.namespace, call.name, why)
