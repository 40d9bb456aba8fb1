"""A store that forgets everything with the process: for tests and throw-away servers."""

from __future__ import annotations

from fairway.storage.backend import Change, Compacted, Page, Record
from fairway.storage.local import LocalBackend, Pending


class MemoryBackend(LocalBackend):
    def __init__(self) -> None:
        super().__init__()
        self._log: list[Change] = []

    async def open(self) -> None:
        pass

    async def get(self, key: str) -> Record | None:
        change = next((c for c in reversed(self._log) if c.key == key), None)
        return _record(change) if change else None

    async def range(self, prefix: str, *, revision: int = 0, after: str = "", limit: int = 0) -> Page:
        shown = revision or self._revision
        if shown < self._compacted:
            raise Compacted(self._compacted)
        latest = {c.key: c for c in self._log if c.revision <= shown and c.key.startswith(prefix)}
        keys = sorted(key for key, c in latest.items() if c.value is not None and key > after)
        chosen = keys[:limit] if limit else keys
        records = [record for key in chosen if (record := _record(latest[key]))]
        return Page(records, shown, len(keys) - len(chosen))

    async def compact(self, revision: int) -> None:
        current = {c.key: c for c in self._log if c.revision <= revision}
        self._log = [
            c for c in self._log if c.revision > revision or (current[c.key] is c and c.value is not None)
        ]
        self._compacted = max(self._compacted, revision)

    def _commit(self, pending: Pending) -> None:
        self._log += pending.changes
        self._committed([pending])

    async def _history(self, prefix: str, after: int, until: int) -> list[Change]:
        return [c for c in self._log if after < c.revision <= until and c.key.startswith(prefix)]


def _record(change: Change) -> Record | None:
    if change.value is None:
        return None
    return Record(change.key, change.value, change.revision, change.created)
