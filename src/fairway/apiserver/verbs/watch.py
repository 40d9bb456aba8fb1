"""WATCH: a stream of what changes, from a revision on, from now on, or from the whole state on.

Each event is one line of JSON, sent at once. `sendInitialEvents` streams the state first and marks its
end with a bookmark, which is how client-go's informers start.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

from fairway.api.apply import zero
from fairway.api.errors import expired, not_acceptable
from fairway.api.kind import Obj
from fairway.api.tables import TableStream, partial_object_metadata
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.encoding import encode, object_prefix
from fairway.apiserver.feed import ADDED, Seen, Subscription
from fairway.apiserver.freshness import wait_until_fresh
from fairway.apiserver.matching import matcher, selected
from fairway.apiserver.negotiate import STREAMS, Form
from fairway.apiserver.options import check_listing, number, revision
from fairway.apiserver.respond import form_of, include_object, served, served_text, warning_headers
from fairway.apiserver.store import Bucket
from fairway.httpserver import Stream
from fairway.httpserver.messages import Push

BOOKMARK_SECONDS = 60.0
DEFAULT_SECONDS = (1800, 3600)
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

Render = Callable[[Seen], bytes]


async def watch(api: Api, call: Call) -> Stream:
    check_listing(call, watching=True)
    start = revision(call)
    seconds = number(call, "timeoutSeconds") or random.randint(*DEFAULT_SECONDS)
    initial = call.flag("sendInitialEvents") if "sendInitialEvents" in call.params else None
    if form_of(call).yaml:
        raise not_acceptable(f"only the following media types are accepted: {', '.join(STREAMS)}")
    render = renderer(call)
    bucket = api.store.bucket(call.kind.resource)
    if initial:
        await wait_until_fresh(api.store, start)
    elif 0 < start < bucket.feed.oldest:
        return _stream_answer(call, _refusal(start, bucket.feed.oldest))
    matches = matcher(call)
    # No await between here and the first read of the window: nothing is missed, nothing repeated.
    subscription = bucket.feed.subscribe(matches, after=0 if initial else start)
    if initial or (start == 0 and initial is None):
        first = [Seen(ADDED, entry, None) for entry in selected(api, call)]
    elif start == 0:
        first = []
    else:
        first = [seen for event in bucket.feed.since(start) if (seen := subscription.view(event))]
    opening = b"".join(map(render, first))
    if initial and call.flag("allowWatchBookmarks"):
        opening += bookmark(call, api.store.revision, {INITIAL_EVENTS_END: "true"})
    chunks = _chunks(api, call, bucket, subscription, render, opening, seconds)

    def told(push: Push) -> None:
        subscription.send = lambda seen: push(render(seen))

    return _stream_answer(call, chunks, told)


def _stream_answer(
    call: Call, chunks: AsyncIterator[bytes], told: Callable[[Push], None] | None = None
) -> Stream:
    return Stream(chunks, headers=warning_headers(call.warnings), told=told)


async def _refusal(start: int, oldest: int) -> AsyncIterator[bytes]:
    """The watch has begun as far as the client is concerned; so this is an event."""
    yield line("ERROR", expired(f"too old resource version: {start} ({oldest})").body())


async def _chunks(
    api: Api,
    call: Call,
    bucket: Bucket,
    subscription: Subscription,
    render: Render,
    opening: bytes,
    seconds: int,
) -> AsyncIterator[bytes]:
    bookmarks = call.flag("allowWatchBookmarks")
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    try:
        yield opening
        next_bookmark = loop.time() + BOOKMARK_SECONDS
        while (now := loop.time()) < end and not subscription.ended:
            seen = await subscription.take(min(end, next_bookmark) - now)
            if seen:
                yield b"".join(map(render, seen))
            elif bookmarks and loop.time() >= next_bookmark:
                yield bookmark(call, api.store.revision)
                next_bookmark = loop.time() + BOOKMARK_SECONDS
    finally:
        bucket.feed.unsubscribe(subscription)


def renderer(call: Call) -> Render:
    form = form_of(call)
    kind = call.kind
    if form.table:
        return _table_renderer(call, form)
    if form.partial:
        return lambda seen: line(
            seen.type, partial_object_metadata(kind.resource, seen.entry.obj(), form.version)
        )
    prefix = object_prefix(kind.resource)
    if kind.face:
        return lambda seen: _plain_line(seen, prefix, served_text(kind, seen.entry))

    def plain(seen: Seen) -> bytes:
        """Encoded once for all watchers that see the event as it is."""
        if seen.event is None:
            return _plain_line(seen, prefix, seen.entry.body)
        if seen.event.line is None:
            seen.event.line = _plain_line(seen, prefix, seen.entry.body)
        return seen.event.line

    return plain


def _plain_line(seen: Seen, prefix: bytes, body: bytes) -> bytes:
    return b'{"type":"%b","object":%b%b}\n' % (seen.type.encode(), prefix, body)


def _table_renderer(call: Call, form: Form) -> Render:
    stream = TableStream(call.kind.resource, include_object(call), form.version)
    return lambda seen: line(seen.type, stream.table(served(call.kind, seen.entry), datetime.now(UTC)))


def line(kind: str, obj: Obj) -> bytes:
    return encode({"type": kind, "object": obj}) + b"\n"


def bookmark(call: Call, shown: int, annotations: dict[str, str] | None = None) -> bytes:
    """An object of the kind with nothing in it but how far the stream is."""
    resource, form = call.kind.resource, form_of(call)
    metadata: Obj = {"resourceVersion": str(shown)}
    if annotations:
        metadata["annotations"] = annotations
    obj: Obj = {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        **zero(resource),
        "metadata": metadata,
    }
    if form.partial:
        obj = partial_object_metadata(resource, obj, form.version)
    elif form.table:
        table = {"kind": "Table", "apiVersion": f"meta.k8s.io/{form.version}", "metadata": metadata}
        obj = {**table, "columnDefinitions": None, "rows": []}
    return line("BOOKMARK", obj)
