"""GET of one object, or of its status."""

from __future__ import annotations

from fairway.api.errors import not_found
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.entry import Entry
from fairway.apiserver.freshness import wait_until_fresh
from fairway.apiserver.options import revision
from fairway.apiserver.respond import entry_answer
from fairway.httpserver import Response


def found(api: Api, call: Call) -> Entry:
    entry = api.store.bucket(call.kind.resource).entries.get(call.key)
    if entry is None:
        raise not_found(call.kind.resource, call.name)
    return entry


async def get(api: Api, call: Call) -> Response:
    if call.params.get("resourceVersion"):
        await wait_until_fresh(api.store, revision(call))
    else:
        await api.store.catch_up()
    return entry_answer(call, found(api, call))
