"""The storage protocol: a revisioned key-value store with compare-and-write transactions and watches.

Every change has a revision greater than those of all transactions before. Changes of one transaction may
share theirs (etcd) or have one each, in order (the others). What each implementation promises is written here
once; `tests` run the same suite over all of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Record(NamedTuple):
    """One key as it stands: its value, the revision that wrote it and the one that created it."""

    key: str
    value: bytes
    revision: int
    created: int


class Change(NamedTuple):
    """One key written (`value` is bytes) or removed (`value` is None) at a revision."""

    revision: int
    key: str
    value: bytes | None
    created: int


class Page(NamedTuple):
    """Part of a range, and the revision it shows; `remaining` counts the keys after it."""

    records: list[Record]
    revision: int
    remaining: int


@dataclass(frozen=True, slots=True)
class Compare:
    """The key must stand at this revision; 0 means that it must not exist."""

    key: str
    revision: int


@dataclass(frozen=True, slots=True)
class Put:
    key: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Delete:
    key: str


Operation = Put | Delete


class StorageError(Exception):
    """Root of what storage can raise.

    StorageError
     ├── CompareFailed   a key was not at the revision the transaction demanded; nothing was written
     ├── Compacted       history before the asked revision is gone
     └── Unavailable     the store can't be reached or refused to write; nothing was acknowledged
    """


class CompareFailed(StorageError):
    def __init__(self, key: str) -> None:
        super().__init__(f"{key} has changed")
        self.key = key


class Compacted(StorageError):
    def __init__(self, oldest: int) -> None:
        super().__init__(f"history starts at revision {oldest}")
        self.oldest = oldest


class Unavailable(StorageError):
    pass


MARKER = "/opened"
"""A key without meaning, for those who must write something so that watches have something to see."""


class Backend(Protocol):
    """A store. `open` comes first, `close` last; everything between may run concurrently."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    @property
    def revision(self) -> int:
        """The newest committed revision this store knows of."""

    @property
    def compacted(self) -> int:
        """History up to and including this revision may be gone."""

    @property
    def shared(self) -> bool:
        """Whether others may write to it, too."""

    async def latest(self) -> int:
        """The newest committed revision, whoever wrote it."""

    async def get(self, key: str) -> Record | None: ...

    async def range(self, prefix: str, *, revision: int = 0, after: str = "", limit: int = 0) -> Page:
        """Keys under a prefix in order, as they stood at `revision` (0: now), greater than `after`."""

    async def transact(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> int:
        """All or nothing; returns its last revision once it is durable and was given to every watch."""

    def watch(self, prefix: str, after: int) -> AsyncIterator[list[Change]]:
        """Every change under a prefix after a revision, in order, for ever; raises Compacted."""

    async def compact(self, revision: int) -> None:
        """Forget superseded values up to a revision."""
