"""GET of a collection: as it is, as it was at a revision, a page at a time if asked.

All pages of a list show the state of its first page.
"""

from __future__ import annotations

from fairway.api.errors import bad_request, expired
from fairway.api.kind import Obj
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.entry import Entry
from fairway.apiserver.freshness import wait_until_fresh
from fairway.apiserver.matching import is_narrowed, selected
from fairway.apiserver.options import EXACT, check_listing, number, revision
from fairway.apiserver.paging import LATEST, TOO_OLD, cant_continue, decode_token, token_after
from fairway.apiserver.respond import list_answer
from fairway.httpserver import Response


async def list_objects(api: Api, call: Call) -> Response:
    if not call.params.get("resourceVersion"):
        await api.store.catch_up()
    if not call.params:
        return list_answer(call, selected(api, call), {"resourceVersion": str(max(api.store.revision, 1))})
    check_listing(call, watching=False)
    limit = number(call, "limit")
    if call.params.get("continue"):
        entries, shown = await _continued(api, call)
    else:
        entries, shown = await _begun(api, call, limit)
        if call.params.get("resourceVersion") == "0":
            limit = 0  # any state will do, and in one piece
    metadata: Obj = {"resourceVersion": str(max(shown, 1))}
    if 0 < limit < len(entries):
        metadata["continue"] = token_after(entries[limit - 1].key, shown)
        if not is_narrowed(call):
            metadata["remainingItemCount"] = len(entries) - limit
        entries = entries[:limit]
    return list_answer(call, entries, metadata)


async def _begun(api: Api, call: Call, limit: int) -> tuple[list[Entry], int]:
    """A whole list, and the revision it shows."""
    wanted = revision(call, "invalid resource version: ")
    match = call.params.get("resourceVersionMatch", "")
    await wait_until_fresh(api.store, wanted)
    # A revision with a limit means just that one, unless the client says otherwise.
    if wanted and (match == EXACT or (limit > 0 and not match)):
        if wanted < api.store.bucket(call.kind.resource).feed.oldest:
            raise expired(TOO_OLD)
        return selected(api, call, wanted), wanted
    return selected(api, call), api.store.revision


async def _continued(api: Api, call: Call) -> tuple[list[Entry], int]:
    """The rest of a list from where its last page ended."""
    place = decode_token(call.params["continue"])
    if call.params.get("resourceVersion") not in (None, "", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    shown = api.store.revision if place.revision == LATEST else place.revision
    if shown < api.store.bucket(call.kind.resource).feed.oldest:
        raise cant_continue(place)
    await wait_until_fresh(api.store, shown)
    return [entry for entry in selected(api, call, shown) if entry.key >= place.start], shown
