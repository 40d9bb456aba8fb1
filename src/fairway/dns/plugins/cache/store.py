"""Answers kept for later: entries by question, at most so many, the longest unused going first."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from fairway.dns import wire
from fairway.dns.wire import Query, Record, Reply

Key = tuple[bytes, int, bool, bool]
"""Name, type, DO, CD: what an answer depends on."""


@dataclass(slots=True)
class Entry:
    reply: Reply
    name: bytes
    until: float
    ttl: int
    hits: int = 0

    def answer(self, query: Query, ttl: int) -> Reply:
        """The answer with what is left of its life, and the name as this client wrote it."""
        reply = with_ttl(self.reply, ttl)
        if query.name != self.name:
            reply = msgspec.structs.replace(reply, answer=_renamed(reply.answer, query.name))
        if not (query.do or query.flags & wire.AD):
            # Whoever doesn't ask for it can't do anything with "authenticated" (RFC 6840 section 5.8).
            reply = msgspec.structs.replace(reply, flags=reply.flags & ~wire.AD)
        return reply


def with_ttl(reply: Reply, ttl: int) -> Reply:
    return msgspec.structs.replace(
        reply,
        answer=_aged(reply.answer, ttl),
        authority=_aged(reply.authority, ttl),
        additional=_aged(reply.additional, ttl),
    )


def _aged(records: tuple[Record, ...], ttl: int) -> tuple[Record, ...]:
    return tuple(msgspec.structs.replace(record, ttl=ttl) for record in records)


def _renamed(records: tuple[Record, ...], name: bytes) -> tuple[Record, ...]:
    key = name.lower()
    return tuple(
        msgspec.structs.replace(record, name=name) if record.name.lower() == key else record
        for record in records
    )


class Store:
    def __init__(self, capacity: int) -> None:
        self._capacity = max(1, capacity)
        self._entries: dict[Key, Entry] = {}

    def get(self, key: Key) -> Entry | None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            # To the end: what comes first in the dict is what was unused for longest.
            self._entries[key] = entry
        return entry

    def put(self, key: Key, entry: Entry) -> None:
        self._entries.pop(key, None)
        while len(self._entries) >= self._capacity:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = entry

    def drop(self, key: Key) -> None:
        self._entries.pop(key, None)

    def __len__(self) -> int:
        return len(self._entries)
