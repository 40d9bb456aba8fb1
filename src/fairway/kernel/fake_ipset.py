"""ipset without a kernel: remembers sets, and refuses entries for sets that don't exist."""

from __future__ import annotations

from collections.abc import Iterable

from fairway.kernel.ipset import Entry, IpsetError, Kind


class FakeIpset:
    def __init__(self) -> None:
        self.kinds: dict[str, Kind] = {}
        self.members: dict[str, set[Entry]] = {}
        self.changes = 0

    def sizes(self) -> dict[str, tuple[Kind, int]]:
        return {name: (kind, len(self.members[name])) for name, kind in self.kinds.items()}

    def entries(self, name: str) -> set[Entry]:
        return set(self.members[name])

    def create(self, name: str, kind: Kind) -> None:
        if self.kinds.setdefault(name, kind) != kind:
            raise IpsetError(f"create set {name} of type {kind.type}: it exists and is another")
        self.members.setdefault(name, set())

    def destroy(self, name: str) -> None:
        self.kinds.pop(name, None)
        self.members.pop(name, None)

    def change(self, name: str, deleted: Iterable[Entry], added: Iterable[Entry]) -> None:
        if name not in self.members:
            raise IpsetError(f"change set {name}: there is no such set")
        gone, new = set(deleted), set(added)
        self.changes += len(gone) + len(new)
        # An entry is known by all but its mark.
        touched = {entry._replace(mark=0) for entry in gone | new}
        kept = {entry for entry in self.members[name] if entry._replace(mark=0) not in touched}
        self.members[name] = kept | new

    def close(self) -> None:
        return None
