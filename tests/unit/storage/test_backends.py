"""One suite for every store: what `storage.backend` promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from fairway.storage.backend import (
    Backend,
    Change,
    Compacted,
    Compare,
    CompareFailed,
    Delete,
    Put,
    Unavailable,
)
from fairway.storage.etcd import EtcdBackend
from fairway.storage.memory import MemoryBackend
from fairway.storage.sqlite import SqliteBackend
from tests.unit.storage.etcd_process import etcd


@pytest.fixture(scope="module")
def etcd_address() -> Iterator[str]:
    with etcd() as address:
        yield address


@pytest.fixture(params=["memory", "sqlite", "etcd"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    store: Backend
    if request.param == "memory":
        store = MemoryBackend()
    elif request.param == "sqlite":
        store = SqliteBackend(tmp_path / "store.db")
    else:
        store = EtcdBackend([request.getfixturevalue("etcd_address")])
    await store.open()
    if request.param == "etcd":
        await empty(store)
    yield store
    await store.close()


async def empty(store: Backend) -> None:
    for record in (await store.range("/")).records:
        await store.transact([], [Delete(record.key)])


async def put(store: Backend, key: str, value: bytes) -> int:
    return await store.transact([], [Put(key, value)])


async def collect(store: Backend, prefix: str, after: int, count: int) -> list[Change]:
    found: list[Change] = []
    async for changes in store.watch(prefix, after):
        found += changes
        if len(found) >= count:
            break
    return found


async def test_revisions_grow_and_a_transaction_has_that_of_its_last_change(backend: Backend) -> None:
    first = await put(backend, "/a", b"1")
    second = await backend.transact([], [Put("/b", b"2"), Put("/c", b"3")])
    records = {record.key: record.revision for record in (await backend.range("/")).records}
    assert records["/a"] == first < records["/b"] <= records["/c"] == second


async def test_a_compare_that_fails_writes_nothing(backend: Backend) -> None:
    revision = await put(backend, "/a", b"1")
    with pytest.raises(CompareFailed) as failure:
        await backend.transact([Compare("/a", revision + 5)], [Put("/b", b"2")])
    assert failure.value.key == "/a"
    assert await backend.get("/b") is None
    assert backend.revision == revision


async def test_of_many_that_create_one_key_exactly_one_wins(backend: Backend) -> None:
    async def create(number: int) -> int:
        return await backend.transact([Compare("/a", 0)], [Put("/a", str(number).encode())])

    outcomes = await asyncio.gather(*(create(n) for n in range(32)), return_exceptions=True)
    assert sum(isinstance(outcome, int) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, CompareFailed) for outcome in outcomes) == 31


async def test_created_stays_through_updates_and_starts_anew_after_a_deletion(backend: Backend) -> None:
    created = await put(backend, "/a", b"1")
    await put(backend, "/a", b"2")
    record = await backend.get("/a")
    assert record
    assert record.created == created
    await backend.transact([], [Delete("/a")])
    again = await put(backend, "/a", b"3")
    record = await backend.get("/a")
    assert record
    assert record.created == again


async def test_a_watch_replays_what_came_after_its_revision_and_then_follows(backend: Backend) -> None:
    first = await put(backend, "/a", b"1")
    await put(backend, "/a", b"2")
    await put(backend, "/other/x", b"-")
    following = asyncio.create_task(collect(backend, "/a", first, 3))
    await asyncio.sleep(0)
    await put(backend, "/a", b"3")
    await backend.transact([], [Delete("/a")])
    changes = await following
    assert [change.value for change in changes] == [b"2", b"3", None]
    assert [c.revision for c in changes] == sorted(c.revision for c in changes)


async def test_a_range_shows_the_past_until_it_is_compacted(backend: Backend) -> None:
    old = await put(backend, "/a", b"old")
    await put(backend, "/a", b"new")
    newest = await put(backend, "/b", b"b")
    past = await backend.range("/", revision=old)
    assert [(r.key, r.value) for r in past.records] == [("/a", b"old")]
    await backend.compact(newest)
    with pytest.raises(Compacted):
        await backend.range("/", revision=old)
    with pytest.raises(Compacted):
        await collect(backend, "/", old, 1)
    assert [(r.key, r.value) for r in (await backend.range("/")).records] == [("/a", b"new"), ("/b", b"b")]


async def test_pages_are_in_order_and_say_how_much_is_left(backend: Backend) -> None:
    for name in "cab":
        await put(backend, f"/x/{name}", b"1")
    page = await backend.range("/x/", limit=2)
    assert [r.key for r in page.records] == ["/x/a", "/x/b"]
    assert page.remaining == 1
    rest = await backend.range("/x/", after="/x/b", limit=2)
    assert [r.key for r in rest.records] == ["/x/c"]
    assert rest.remaining == 0


async def test_sqlite_keeps_state_history_and_compaction_over_a_restart(tmp_path: Path) -> None:
    store = SqliteBackend(tmp_path / "s.db")
    await store.open()
    first = await put(store, "/a", b"1")
    second = await put(store, "/a", b"2")
    await store.compact(first)
    await store.close()
    again = SqliteBackend(tmp_path / "s.db")
    await again.open()
    assert (again.revision, again.compacted) == (second, first)
    assert [c.value for c in await collect(again, "/", first, 1)] == [b"2"]
    assert await put(again, "/a", b"3") == second + 1
    await again.close()


async def test_sqlite_never_reuses_a_revision_even_if_everything_was_deleted_and_compacted(
    tmp_path: Path,
) -> None:
    store = SqliteBackend(tmp_path / "s.db")
    await store.open()
    await put(store, "/a", b"1")
    last = await store.transact([], [Delete("/a")])
    await store.compact(last)
    await store.close()
    again = SqliteBackend(tmp_path / "s.db")
    await again.open()
    assert await put(again, "/b", b"1") > last
    await again.close()


async def test_sqlite_acknowledges_nothing_it_could_not_write_and_recovers(tmp_path: Path) -> None:
    store = SqliteBackend(tmp_path / "s.db")
    await store.open()
    revision = await put(store, "/a", b"1")
    blocker = store._connect()
    blocker.execute("DROP TABLE history")
    outcomes = await asyncio.gather(put(store, "/a", b"2"), put(store, "/b", b"2"), return_exceptions=True)
    assert all(isinstance(outcome, Unavailable) for outcome in outcomes)
    assert store.revision == revision
    blocker.executescript(
        "CREATE TABLE history (revision INTEGER, key TEXT, value BLOB, created INTEGER,"
        " PRIMARY KEY (key, revision))"
    )
    blocker.close()
    assert await put(store, "/b", b"3") == revision + 1
    await store.close()
