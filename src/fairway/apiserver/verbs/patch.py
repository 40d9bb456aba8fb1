"""PATCH: JSON, merge and strategic merge patches of an object or its status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairway.api.errors import bad_request, path_not_found, unsupported_media_type
from fairway.api.kind import Kind, Obj
from fairway.api.patches import decode_patch, json_patch, merge_patch, strategic_merge_patch
from fairway.api.schema.shape import shape_of
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import conform_patched, media_type
from fairway.apiserver.verbs.create import written_answer
from fairway.apiserver.verbs.update import (
    prepare_main,
    prepare_status,
    status_warnings,
    update_warnings,
    validate_main,
    validate_status,
)
from fairway.httpserver import Response

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

Apply = Callable[[Obj], Obj]


async def patch(api: Api, call: Call) -> Response:
    if call.subresource and not (call.subresource == "status" and call.kind.status):
        raise path_not_found()
    kind = call.kind
    status = call.subresource == "status"
    written = await api.committer.update(
        kind,
        call.key,
        patcher(call),
        prepare=prepare_status if status else prepare_main,
        validate=lambda new, old: (validate_status if status else validate_main)(kind, new, old),
        warn=lambda new, old: (status_warnings if status else update_warnings)(kind, new, old),
        allocate=not status,
        dry_run=call.dry_run,
    )
    return written_answer(call, written)


def patcher(call: Call) -> Apply:
    """The function that makes the wanted object of the stored one."""
    media = media_type(call)
    if media not in (JSON, MERGE, STRATEGIC):
        raise unsupported_media_type((JSON, MERGE, STRATEGIC))
    body = decode_patch(call.request.body)
    kind = call.kind

    def apply(old: Obj) -> Obj:
        whole = {"kind": kind.resource.kind, "apiVersion": kind.resource.api_version, **old}
        new = _patched(media, kind, whole, body)
        if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
            raise bad_request("the patch does not leave an object")
        return conform_patched(call, new)

    return apply


def _patched(media: str, kind: Kind, old: Obj, body: Any) -> Any:
    if media == JSON:
        return json_patch(old, body)
    if media == MERGE:
        return merge_patch(old, body)
    return strategic_merge_patch(old, body, shape_of(kind.resource.api_version, kind.resource.kind))
