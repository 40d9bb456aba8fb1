"""The cache: our own writes show at once, and make way for what the informer shows later."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.objects import ObjectMeta
from fairway.controllers.cache import PATIENCE, Cache
from fairway.controllers.cluster import Bare


class Source:
    def __init__(self) -> None:
        self.items: dict[str, Bare] = {}
        self.resource_version = 10
        self.tell: Any = None

    def get(self, key: str) -> Bare | None:
        return self.items.get(key)

    def keep(self, key: str, twin: Bare) -> None:
        self.items[key] = twin

    def on_change(self, callback: Any) -> None:
        self.tell = callback

    def show(self, item: Bare | None, key: str = "shop/a", revision: int = 0) -> None:
        """An event of the watch."""
        old = self.items.pop(key, None)
        if item is not None:
            self.items[key] = item
        number = revision or (int(item.metadata.resource_version) if item else 0)
        self.resource_version = max(self.resource_version, number)
        self.tell(key, old, item)


def at(revision: int, name: str = "a", uid: str = "u1", **meta: Any) -> Bare:
    return Bare(ObjectMeta(name, "shop", uid, str(revision), **meta))


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def cache(source: Source, clock: list[float]) -> Cache[Bare]:
    return Cache(source, Bare, lambda: clock[0])


def test_a_write_shows_at_once(cache: Cache[Bare]) -> None:
    cache.wrote(at(12))
    assert cache.get("shop/a") == at(12)
    assert list(cache) == [at(12)]


def test_an_older_event_does_not_undo_a_write(cache: Cache[Bare], source: Source) -> None:
    source.show(at(11))
    cache.wrote(at(15))
    source.show(at(13))
    assert cache.get("shop/a") == at(15)
    source.show(at(15))
    source.show(at(20))
    assert cache.get("shop/a") == at(20)


def test_of_what_we_wrote_and_the_watch_shows_there_is_one_copy(cache: Cache[Bare], source: Source) -> None:
    cache.wrote(at(12))
    source.show(at(12))
    assert cache.get("shop/a") is source.get("shop/a")


def test_our_own_write_is_no_change_when_the_watch_shows_it(cache: Cache[Bare], source: Source) -> None:
    told: list[object] = []
    cache.on_change(lambda *change: told.append(change))
    cache.wrote(at(12))
    source.show(at(12))
    assert told == [("shop/a", None, at(12))]


def test_a_write_the_watch_has_already_overtaken_is_ignored(cache: Cache[Bare], source: Source) -> None:
    source.show(at(20))
    cache.wrote(at(15))
    assert cache.get("shop/a") == at(20)


def test_what_was_deleted_by_others_after_our_write_is_gone(cache: Cache[Bare], source: Source) -> None:
    cache.wrote(at(12))
    source.show(at(12))
    source.show(None, revision=13)
    assert cache.get("shop/a") is None


def test_what_was_made_and_deleted_while_the_watch_was_cut_is_gone(
    cache: Cache[Bare], source: Source
) -> None:
    cache.wrote(at(12))
    source.resource_version = 30  # a fresh list, without it
    assert cache.get("shop/a") is None


def test_a_deleted_object_is_gone_at_once_and_stays_so_until_the_watch_says_otherwise(
    cache: Cache[Bare], source: Source
) -> None:
    source.show(at(11))
    cache.gone("shop/a", "u1")
    assert cache.get("shop/a") is None
    source.show(at(14, finalizers=["x"]))
    assert cache.get("shop/a") == at(14, finalizers=["x"])


def test_a_namesake_is_not_taken_for_the_deleted_one(cache: Cache[Bare], source: Source) -> None:
    source.show(at(14, uid="u2"))
    cache.gone("shop/a", "u1")
    assert cache.get("shop/a") is not None


def test_an_assumption_holds_until_the_object_itself_changes(cache: Cache[Bare], source: Source) -> None:
    source.show(at(11))
    cache.assume(at(11, labels={"node": "n1"}))
    source.show(at(40, name="other"), key="shop/other")
    assert cache.get("shop/a") == at(11, labels={"node": "n1"})
    source.show(at(41))
    assert cache.get("shop/a") == at(41)


def test_an_assumption_that_did_not_come_true_is_taken_back(cache: Cache[Bare], source: Source) -> None:
    source.show(at(11))
    cache.assume(at(11, labels={"node": "n1"}))
    cache.doubt("shop/a")
    assert cache.get("shop/a") == at(11)


def test_a_server_that_started_over_is_believed_in_the_end(
    cache: Cache[Bare], source: Source, clock: list[float]
) -> None:
    cache.wrote(at(5000))
    source.show(at(12))
    assert cache.get("shop/a") == at(5000)
    clock[0] = PATIENCE
    assert cache.get("shop/a") == at(12)


def test_listeners_hear_of_a_write_once_not_again_from_the_watch(cache: Cache[Bare], source: Source) -> None:
    heard: list[tuple[Any, Any]] = []
    cache.on_change(lambda _key, old, new: heard.append((old, new)))
    cache.wrote(at(12))
    source.show(at(12))
    assert heard == [(None, at(12))]


def test_an_index_follows_every_change(cache: Cache[Bare], source: Source) -> None:
    by_label = cache.index(lambda item: (item.metadata.labels or {}).values())
    source.show(at(11, labels={"app": "web"}))
    cache.wrote(at(12, labels={"app": "api"}))
    assert (by_label("web"), by_label("api")) == ([], [at(12, labels={"app": "api"})])
    cache.gone("shop/a", "u1")
    assert by_label("api") == []
