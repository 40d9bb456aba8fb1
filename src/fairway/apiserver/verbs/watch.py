"""WATCH: a stream of what changes, from a revision on, from now on, or from the whole state on.

Each event is one line of JSON, sent at once. `sendInitialEvents` streams the state first and marks its
end with a bookmark, which is how client-go's informers start.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

from fairway.api.errors import StatusError, expired
from fairway.api.kind import Obj
from fairway.api.tables import TableStream, partial_object_metadata
from fairway.api.validation.fields import forbidden_field, invalid
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.encoding import encode, object_prefix
from fairway.apiserver.feed import ADDED, Seen, Subscription
from fairway.apiserver.respond import form_of, include_object
from fairway.apiserver.store import Bucket
from fairway.apiserver.verbs.list import matcher, selected
from fairway.httpserver import Stream

BOOKMARK_SECONDS = 60.0
DEFAULT_SECONDS = (1800, 3600)
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

Render = Callable[[Seen], bytes]


async def watch(api: Api, call: Call) -> Stream:
    initial = check_initial_events(call)
    bucket = api.store.bucket(call.kind.resource)
    start = starting_revision(call)
    if start and start < bucket.feed.oldest:
        raise expired(f"too old resource version: {start} ({bucket.feed.oldest + 1})")
    matches = matcher(call)
    # No await between here and the first read of the window: nothing is missed, nothing repeated.
    subscription = bucket.feed.subscribe(matches)
    first: list[Seen] = []
    if initial or start == 0:
        first = (
            [Seen(ADDED, entry, None) for entry in selected(api, call)] if _wants_state(call, initial) else []
        )
    else:
        first = [seen for event in bucket.feed.since(start) if (seen := subscription.view(event))]
    now = api.store.revision
    chunks = _stream(api, call, bucket, subscription, first, initial, now)
    return Stream(chunks, content_type=content_type(call))


def content_type(call: Call) -> str:
    return "application/json" if not form_of(call).table else "application/json;as=Table;v=v1;g=meta.k8s.io"


def _wants_state(call: Call, initial: bool | None) -> bool:
    """Without a revision a watch begins with the state, unless sendInitialEvents=false says otherwise."""
    return initial is not False


def starting_revision(call: Call) -> int:
    text = call.params.get("resourceVersion", "")
    if not text or text == "0":
        return 0
    if not text.isdigit():
        raise invalid_version(text)
    return int(text)


def invalid_version(text: str) -> StatusError:
    return StatusError(
        400,
        "BadRequest",
        f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax',
    )


def check_initial_events(call: Call) -> bool | None:
    """None if the client did not say; the parameters must fit together."""
    match = call.params.get("resourceVersionMatch", "")
    said = call.params.get("sendInitialEvents")
    if said is None:
        if match:
            raise invalid(
                "ListOptions",
                "meta.k8s.io",
                "",
                [
                    forbidden_field(
                        "resourceVersionMatch",
                        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                    )
                ],
            )
        return None
    wanted = call.flag("sendInitialEvents")
    if match != "NotOlderThan":
        raise invalid(
            "ListOptions",
            "meta.k8s.io",
            "",
            [
                forbidden_field(
                    "resourceVersionMatch",
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                )
            ],
        )
    return wanted


async def _stream(
    api: Api,
    call: Call,
    bucket: Bucket,
    subscription: Subscription,
    first: list[Seen],
    initial: bool | None,
    revision: int,
) -> AsyncIterator[bytes]:
    render = renderer(call)
    bookmarks = call.flag("allowWatchBookmarks")
    loop = asyncio.get_running_loop()
    seconds = int(call.params.get("timeoutSeconds") or 0) or random.randint(*DEFAULT_SECONDS)
    end = loop.time() + seconds
    try:
        if first:
            yield b"".join(map(render, first))
        if initial and bookmarks:
            yield bookmark(call, revision, {INITIAL_EVENTS_END: "true"})
        else:
            yield b""
        next_bookmark = loop.time() + BOOKMARK_SECONDS
        while (now := loop.time()) < end and not subscription.closed and not subscription.overrun:
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
    resource = call.kind.resource
    if form.table:
        return _table_renderer(call)
    if form.partial:
        return lambda seen: line(seen.type, partial_object_metadata(resource, seen.entry.obj()))
    prefix = object_prefix(resource)

    def plain(seen: Seen) -> bytes:
        """Encoded once for all watchers that see the event as it is."""
        if seen.event is None:
            return _plain_line(seen, prefix)
        if seen.event.line is None:
            seen.event.line = _plain_line(seen, prefix)
        return seen.event.line

    return plain


def _plain_line(seen: Seen, prefix: bytes) -> bytes:
    return b'{"type":"%b","object":%b%b}\n' % (seen.type.encode(), prefix, seen.entry.body)


def _table_renderer(call: Call) -> Render:
    stream = TableStream(call.kind.resource, include_object=include_object(call))
    return lambda seen: line(seen.type, stream.table(seen.entry.obj(), datetime.now(UTC)))


def line(kind: str, obj: Obj) -> bytes:
    return encode({"type": kind, "object": obj}) + b"\n"


def bookmark(call: Call, revision: int, annotations: dict[str, str] | None = None) -> bytes:
    resource = call.kind.resource
    metadata: Obj = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = annotations
    obj: Obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return line("BOOKMARK", obj)
