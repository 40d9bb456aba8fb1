"""The window of events: what a watch can resume from, and how large it may grow."""

from __future__ import annotations

import asyncio

import pytest

from fairway.apiserver import feed
from fairway.apiserver.entry import Entry
from fairway.apiserver.feed import ADDED, DELETED, MODIFIED, Event, Feed


def entry(name: str, revision: int, labels: str = "{}") -> Entry:
    stored = b'{"metadata":{"name":"%b","labels":%b}}' % (name.encode(), labels.encode())
    return Entry(f"default/{name}", stored, revision, 1)


def event(revision: int) -> Event:
    return Event(ADDED, entry(f"object-{revision}", revision), None)


def revisions(window: Feed, after: int) -> list[int]:
    return [event.revision for event in window.since(after)]


def test_what_happened_after_a_revision_can_be_had_in_order() -> None:
    window = Feed()
    for revision in (3, 5, 8):
        window.publish(event(revision))
    assert revisions(window, 0) == [3, 5, 8]
    assert revisions(window, 3) == [5, 8]
    assert revisions(window, 4) == [5, 8]
    assert revisions(window, 8) == []


def test_a_flood_of_events_drops_the_oldest_and_says_from_where_it_is_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feed, "MOST_KEPT", 100)
    window = Feed()
    for revision in range(1, 1001):
        window.publish(event(revision))
    kept = revisions(window, 0)
    assert len(kept) <= 100
    assert kept == list(range(window.oldest + 1, 1001))


def test_an_object_that_crosses_a_selector_comes_and_goes() -> None:
    window = Feed()
    watcher = window.subscribe(lambda entry: entry.labels.get("in") == "yes")
    out, inside = entry("a", 1), entry("a", 2, '{"in":"yes"}')
    left = entry("a", 3)
    seen = [
        watcher.view(Event(ADDED, out, None)),
        watcher.view(Event(MODIFIED, inside, out)),
        watcher.view(Event(MODIFIED, left, inside)),
        watcher.view(Event(DELETED, left.at(4), left)),
    ]
    assert [view and (view.type, view.entry.revision) for view in seen] == [
        None,
        (ADDED, 2),
        (DELETED, 3),
        None,
    ]
    assert seen[2] is not None
    assert seen[2].entry.labels == {"in": "yes"}  # its last state that matched


async def test_while_a_watcher_waits_events_are_sent_without_waking_it() -> None:
    window, sent = Feed(), []
    subscription = window.subscribe(None)
    subscription.send = lambda seen: not sent.append(seen.entry.revision)
    waiting = asyncio.create_task(subscription.take(60))
    await asyncio.sleep(0)
    window.publish(event(3))
    assert sent == [3]
    subscription.close()
    assert await waiting == []


async def test_what_could_not_be_sent_at_once_is_taken_in_order() -> None:
    window, sent = Feed(), []
    subscription = window.subscribe(None)
    subscription.send = lambda seen: not sent.append(seen.entry.revision) and seen.entry.revision < 4
    waiting = asyncio.create_task(subscription.take(60))
    await asyncio.sleep(0)
    for revision in (3, 4, 5):
        window.publish(event(revision))
    assert [seen.entry.revision for seen in await waiting] == [4, 5]
    assert sent == [3, 4]


async def test_before_a_watcher_waits_nothing_overtakes_what_it_has_not_sent_yet() -> None:
    window = Feed()
    subscription = window.subscribe(None)
    subscription.send = lambda seen: True
    window.publish(event(3))
    assert [seen.entry.revision for seen in await subscription.take(60)] == [3]
