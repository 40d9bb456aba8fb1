"""PATCH of an object or its status: JSON, merge and strategic merge patches, and apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairway.api.errors import StatusError, unsupported_patch_type
from fairway.api.kind import Kind, Obj
from fairway.api.patches import decode_patch, json_patch, merge_patch, strategic_merge_patch
from fairway.api.patches.complaints import patch_complaints
from fairway.api.schema.shape import shape_of
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import check_place, conform_patched, drop_repeated_owners, media_type
from fairway.apiserver.options import APPLY, check_writing
from fairway.apiserver.parts import part_of
from fairway.apiserver.tracking import noted_as
from fairway.apiserver.verbs.apply import apply
from fairway.apiserver.verbs.create import written_answer
from fairway.httpserver import Response

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


async def patch(api: Api, call: Call) -> Response:
    media = patch_type(call)
    check_writing(call, media)
    if media == APPLY:
        return await apply(api, call)
    written = await api.committer.update(
        call.kind,
        call.key,
        patcher(call, media),
        part=part_of(call.subresource),
        track=noted_as(call.manager),
        dry_run=call.dry_run,
    )
    return written_answer(call, written)


def patch_type(call: Call) -> str:
    media = media_type(call)
    if media not in (JSON, MERGE, STRATEGIC, APPLY):
        raise unsupported_patch_type()
    return media


def patcher(call: Call, media: str) -> Callable[[Obj], Obj]:
    """The function that makes the wanted object of the stored one."""
    kind = call.kind
    body: Any = None

    def change(old: Obj) -> Obj:
        nonlocal body
        body = decode_patch(call.request.body) if body is None else body
        shown = kind.face.outward(old) if kind.face else old
        if media != JSON and b"managedFields" not in call.request.body:
            # Much to copy and to read again, and nothing in the patch is about it.
            shown["metadata"].pop("managedFields", None)
        whole = {"kind": kind.resource.kind, "apiVersion": kind.resource.api_version, **shown}
        result = patched(media, kind, whole, body)
        new = conform_patched(
            call, result, body if media == STRATEGIC else None, complaints(call, media, body)
        )
        check_place(call, new["metadata"], kind.resource)
        drop_repeated_owners(call, new)
        return kind.face.inward(new) if kind.face else new

    return change


def complaints(call: Call, media: str, body: Any) -> list[str]:
    """What is odd about the patch itself, if the client wants to know."""
    if call.field_validation == "Ignore":
        return []
    return patch_complaints(call.request.body, body, operations=media == JSON)


def patched(media: str, kind: Kind, old: Obj, body: Any) -> Any:
    if media == JSON:
        return json_patch(old, body)
    if media == MERGE:
        return merge_patch(old, body)
    resource = kind.resource
    try:
        return strategic_merge_patch(old, body, shape_of(resource.api_version, resource.kind))
    except StatusError as error:
        if error.code == 500:
            # A mistake of the client's; Kubernetes answers 500, which clients take for a broken server.
            raise StatusError(400, "BadRequest", error.message) from error
        raise
