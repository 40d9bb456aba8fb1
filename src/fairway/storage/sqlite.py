"""The default store: one SQLite file, an append-only history of every key.

One writer thread commits all transactions that wait for it as one SQLite transaction (group commit), with
`synchronous=FULL`: what was acknowledged survives kill -9 and power loss.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
from pathlib import Path
from typing import Any

from fairway.storage.backend import Change, Compacted, Page, Record, Unavailable
from fairway.storage.local import LocalBackend, Pending, Stamp

SCHEMA = """
CREATE TABLE IF NOT EXISTS history (
    revision INTEGER NOT NULL,
    key TEXT NOT NULL,
    value BLOB,
    created INTEGER NOT NULL,
    PRIMARY KEY (key, revision)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_revision ON history (revision);
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""
# The newest row of every key at a revision. SQLite takes the other columns of a bare MAX from its row.
AS_OF = """
SELECT key, value, MAX(revision), created FROM history
WHERE revision <= :revision AND key > :after AND key >= :low AND key < :high
GROUP BY key HAVING value IS NOT NULL ORDER BY key
"""
COMPACT = """
DELETE FROM history WHERE revision <= :revision AND (value IS NULL OR EXISTS (
    SELECT 1 FROM history AS newer
    WHERE newer.key = history.key AND newer.revision > history.revision AND newer.revision <= :revision))
"""
MOST_ROWS = 1000
"""In one statement; SQLite takes up to 32,766 parameters."""
HIGHEST = "\U0010ffff"


class SqliteBackend(LocalBackend):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._work: queue.SimpleQueue[list[Pending] | int | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._gathering: list[Pending] = []
        self._writing = False
        self._compactions: dict[int, asyncio.Future[None]] = {}
        self._loop: asyncio.AbstractEventLoop
        self._reader: sqlite3.Connection

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Before SQLite opens it, for SQLite gives its write-ahead log, full of secrets, the file's own mode.
        self._path.touch(mode=0o600)
        self._path.chmod(0o600)
        self._reader = self._connect()
        self._reader.executescript(SCHEMA)
        for key, _, revision, created in self._reader.execute(AS_OF, _bounds("", revision=2**62)):
            self._stamps[key] = Stamp(revision, created)
        meta = dict(self._reader.execute("SELECT name, value FROM meta").fetchall())
        (newest,) = self._reader.execute("SELECT MAX(revision) FROM history").fetchone()
        self._compacted = meta.get("compacted", 0)
        self._revision = max(newest or 0, self._compacted)
        self._next = self._revision + 1
        self._writer = threading.Thread(target=self._write, name="sqlite-writer", daemon=True)
        self._writer.start()

    async def close(self) -> None:
        await super().close()
        if self._writer:
            self._writing = False
            self._hand_over()
            self._work.put(None)
            await asyncio.to_thread(self._writer.join)
        self._reader.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        if connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() == (0,):
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    # -- reading ---------------------------------------------------------------------------------------

    async def get(self, key: str) -> Record | None:
        row = self._reader.execute(
            "SELECT key, value, revision, created FROM history WHERE key = ? AND revision <= ?"
            " ORDER BY revision DESC LIMIT 1",
            (key, self._revision),
        ).fetchone()
        return Record(*row) if row and row[1] is not None else None

    async def range(self, prefix: str, *, revision: int = 0, after: str = "", limit: int = 0) -> Page:
        shown = revision or self._revision
        if shown < self._compacted:
            raise Compacted(self._compacted)
        bounds = _bounds(prefix, revision=shown, after=after)
        if not limit:
            return Page([Record(*row) for row in self._reader.execute(AS_OF, bounds)], shown, 0)
        rows = self._reader.execute(AS_OF + f" LIMIT {int(limit)}", bounds).fetchall()
        (count,) = self._reader.execute(f"SELECT COUNT(*) FROM ({AS_OF})", bounds).fetchone()
        return Page([Record(*row) for row in rows], shown, count - len(rows))

    async def _history(self, prefix: str, after: int, until: int) -> list[Change]:
        rows = self._reader.execute(
            "SELECT revision, key, value, created FROM history"
            " WHERE revision > ? AND revision <= ? ORDER BY revision",
            (after, until),
        )
        return [Change(*row) for row in rows if row[1].startswith(prefix)]

    # -- writing ---------------------------------------------------------------------------------------

    def _commit(self, pending: Pending) -> None:
        """While one batch is being written, the next one gathers: group commit without waiting for it."""
        self._gathering.append(pending)
        if not self._writing and len(self._gathering) == 1:
            self._loop.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        if self._gathering and not self._writing:
            batch, self._gathering = self._gathering, []
            self._writing = True
            self._work.put(batch)

    async def compact(self, revision: int) -> None:
        revision = min(revision, self._revision)
        if revision <= self._compacted:
            return
        done = self._compactions.setdefault(revision, self._loop.create_future())
        self._work.put(revision)
        await asyncio.shield(done)

    def _write(self) -> None:
        """The writer thread: a batch at a time."""
        connection = self._connect()
        while (work := self._work.get()) is not None:
            if isinstance(work, int):
                self._write_compaction(connection, work)
            else:
                self._write_batch(connection, work)
        connection.close()

    def _write_batch(self, connection: sqlite3.Connection, batch: list[Pending]) -> None:
        changes = [change for pending in batch for change in pending.changes]
        try:
            if len(changes) <= MOST_ROWS:
                _insert(connection, changes)
            else:
                connection.execute("BEGIN IMMEDIATE")
                for start in range(0, len(changes), MOST_ROWS):
                    _insert(connection, changes[start : start + MOST_ROWS])
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            self._loop.call_soon_threadsafe(self._lost, batch, error)
        else:
            self._loop.call_soon_threadsafe(self._written, batch)

    def _written(self, batch: list[Pending]) -> None:
        self._writing = False
        self._committed(batch)
        self._hand_over()

    def _lost(self, batch: list[Pending], error: Exception) -> None:
        """What has gathered meanwhile was checked against what is lost now, so it fails, too."""
        self._writing = False
        gathered, self._gathering = self._gathering, []
        self._failed([*batch, *gathered], error)

    def _write_compaction(self, connection: sqlite3.Connection, revision: int) -> None:
        error: Exception | None = None
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(COMPACT, {"revision": revision})
            connection.execute(
                "INSERT INTO meta VALUES ('compacted', :r)"
                " ON CONFLICT (name) DO UPDATE SET value = MAX(value, :r)",
                {"r": revision},
            )
            connection.execute("COMMIT")
            connection.execute("PRAGMA incremental_vacuum")
        except sqlite3.Error as failure:
            error = failure
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        self._loop.call_soon_threadsafe(self._compaction_ended, revision, error)

    def _compaction_ended(self, revision: int, error: Exception | None) -> None:
        done = self._compactions.pop(revision, None)
        if error is None:
            self._compacted = max(self._compacted, revision)
        if done and not done.done():
            if error:
                done.set_exception(Unavailable(f"could not compact: {error}"))
            else:
                done.set_result(None)


def _insert(connection: sqlite3.Connection, changes: list[Change]) -> None:
    """One statement for all: each costs this thread the interpreter's lock once more, and a busy event loop
    gives that back only after a while. Outside a transaction it is one of its own, fsync included."""
    values = ",".join(["(?,?,?,?)"] * len(changes))
    connection.execute(
        f"INSERT INTO history (revision, key, value, created) VALUES {values}",
        [field for change in changes for field in change],
    )


def _bounds(prefix: str, *, revision: int, after: str = "") -> dict[str, Any]:
    return {"revision": revision, "after": after, "low": prefix, "high": prefix + HIGHEST}


def sqlite_path(url: str, data: Path) -> Path:
    """`sqlite:///path`, or the default place under the data directory."""
    if not url:
        return data / "store" / "fairway.db"
    return Path(os.path.expanduser(url.removeprefix("sqlite://")))
