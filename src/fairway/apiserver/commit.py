"""Changing the store: the one way every create, update and delete goes, whatever the verb or the kind.

Read, prepare, validate, then one transaction that demands what was read still stands; if it does not,
all over again. Companions (addresses, ports) ride in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final, Protocol

from fairway.api.errors import already_exists, conflict, not_found, unavailable
from fairway.api.kind import Kind, Obj
from fairway.api.metadata import count_generation, fill_on_create, keep_on_update, timestamp
from fairway.api.resources import NAMESPACES, Resource
from fairway.api.validation.managed_fields import validate_managed_fields
from fairway.api.validation.metadata import validate_metadata_update
from fairway.apiserver.deletion import is_finished
from fairway.apiserver.encoding import decode_stored, stored_text
from fairway.apiserver.entry import Entry
from fairway.apiserver.parts import MAIN, Part
from fairway.apiserver.refusals import (
    demand_version,
    exists_already,
    is_ending,
    namespace_ending,
    no_name_found,
    refuse_invalid,
    validate_new_metadata,
)
from fairway.apiserver.store import Bucket, Store
from fairway.apiserver.tracking import OURSELVES, Track, note_creation, noted_as, same
from fairway.apiserver.turns import Turns
from fairway.storage.backend import Compare, CompareFailed, Delete, Operation, Put

# Rivals for one object here take turns; this is for those on other servers, who win one a round.
ATTEMPTS: Final = 1000
NAME_ATTEMPTS: Final = 8
"""How many generated names are tried until one is free."""


@dataclass(slots=True)
class Rider:
    """What goes along in a transaction."""

    compares: list[Compare] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)


class Admission(Protocol):
    """Fills in, or refuses, what hangs on other objects or on how the server is run."""

    async def admit(self, kind: Kind, obj: Obj, namespace: str) -> None: ...


class Companion(Protocol):
    """Fills in what a kind needs from elsewhere, and says what to write along with it."""

    def ride(self, new: Obj | None, old: Obj | None) -> Rider: ...


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a write: the entry in the store, or (dry run, removed) just the object."""

    obj: Obj
    entry: Entry | None = None
    created: bool = False
    removed: bool = False
    warnings: list[str] = field(default_factory=list)


class Committer:
    def __init__(
        self,
        store: Store,
        companions: Mapping[Resource, Companion],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        admission: Admission | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self._companions = companions
        self._admission = admission
        self._turns = Turns()

    # -- create ----------------------------------------------------------------------------------------

    async def create(
        self,
        kind: Kind,
        obj: Obj,
        namespace: str,
        *,
        manager: str | None = OURSELVES,
        dry_run: bool = False,
    ) -> Written:
        """`manager` owns what is in the object; None if ownership is noted in it already."""
        self._demand_namespace(kind, obj, namespace)
        kind.default(obj)
        now = self.clock()
        if manager is not None:
            note_creation(kind, obj, manager, timestamp(now))
        if self._admission:
            await self._admission.admit(kind, obj, namespace)
        generates = not obj["metadata"].get("name") and bool(obj["metadata"].get("generateName"))
        for attempt in range(NAME_ATTEMPTS if generates else 1):
            if attempt:
                obj["metadata"].pop("name")
            fill_on_create(obj, namespace, now)
            if not generates or self.store.bucket(kind.resource).entries.get(_key(obj)) is None:
                return await self._insert(kind, obj, namespace, dry_run)
        raise no_name_found(kind.resource, obj["metadata"]["name"])

    async def _insert(self, kind: Kind, obj: Obj, namespace: str, dry_run: bool) -> Written:
        """Allocation comes before validation, as in Kubernetes: what can't be had is refused first."""
        bucket = self.store.bucket(kind.resource)
        original = stored_text(obj) if kind.resource in self._companions else b""
        for _ in range(ATTEMPTS):
            rider = self._ride(kind, obj, None)
            self._prepare_new(kind, obj)
            name = obj["metadata"]["name"]
            key = bucket.key(namespace, name)
            if known := bucket.entries.get(key):
                raise exists_already(kind.resource, known)
            warnings = kind.warnings(obj)
            if dry_run:
                return Written(obj, created=True, warnings=warnings)
            compares = [Compare(bucket.storage_key(key), 0), *rider.compares]
            operations = [*rider.operations, Put(bucket.storage_key(key), stored_text(obj))]
            try:
                await self.store.transact(compares, operations)
            except CompareFailed as failure:
                if failure.key == bucket.storage_key(key):
                    raise already_exists(kind.resource, name) from failure
                obj = decode_stored(original)
                await self.store.advance()
                continue
            return Written(obj, bucket.entries.get(key), created=True, warnings=warnings)
        raise unavailable(f"too many others were writing at the same time to {kind.resource.plural}")

    def _prepare_new(self, kind: Kind, obj: Obj) -> None:
        kind.prepare_create(obj)
        if kind.generation:
            obj["metadata"]["generation"] = 1
        refuse_invalid(kind, obj, [*validate_new_metadata(kind, obj), *kind.validate(obj)])

    def _demand_namespace(self, kind: Kind, obj: Obj, namespace: str) -> None:
        if not kind.resource.namespaced:
            return
        entry = self.store.bucket(NAMESPACES).entries.get(namespace)
        if entry is None:
            raise not_found(NAMESPACES, namespace)
        if is_ending(entry):
            raise namespace_ending(kind.resource, obj.get("metadata", {}).get("name", ""), namespace)

    # -- update ----------------------------------------------------------------------------------------

    async def update(
        self,
        kind: Kind,
        key: str,
        change: Callable[[Obj], Obj],
        *,
        part: Part = MAIN,
        track: Track = noted_as(OURSELVES),  # noqa: B008 (a pure function)
        dry_run: bool = False,
    ) -> Written:
        """`change` makes the wanted object of the stored one; it is called again if another write wins."""
        attempt = partial(self._change, kind, key, change, part, track, dry_run)
        try:
            return await attempt()
        except CompareFailed:
            await self.store.advance()
        async with self._turns.of(f"{kind.resource.qualified}/{key}"):
            for _ in range(ATTEMPTS):
                try:
                    return await attempt()
                except CompareFailed:
                    await self.store.advance()
        raise conflict(kind.resource, key.rpartition("/")[2])

    async def _change(
        self, kind: Kind, key: str, change: Callable[[Obj], Obj], part: Part, track: Track, dry_run: bool
    ) -> Written:
        """Raises CompareFailed if the stored object is no longer what the change was made of."""
        bucket = self.store.bucket(kind.resource)
        entry = bucket.entries.get(key)
        if entry is None:
            raise not_found(kind.resource, key.rpartition("/")[2])
        old = entry.obj()
        new = change(entry.obj())
        kind.default(new)
        track(kind, part, new, old, timestamp(self.clock()))
        demand_version(kind, new, old)
        rider, warnings = self._prepare_change(kind, part, new, old)
        if same(new, old):
            return Written(old, entry, warnings=warnings)
        return await self._replace(bucket, entry, new, rider, warnings, dry_run)

    def _prepare_change(self, kind: Kind, part: Part, new: Obj, old: Obj) -> tuple[Rider, list[str]]:
        keep_on_update(new, old)
        rider = self._ride(kind, new, old) if part.changes_desired else Rider()
        part.prepare(kind, new, old)
        if kind.generation and part.changes_desired:
            count_generation(new, old)
        errors = validate_metadata_update(new["metadata"], old["metadata"])
        if new["metadata"].get("managedFields") != old["metadata"].get("managedFields"):
            errors += validate_managed_fields(new["metadata"].get("managedFields"))
        refuse_invalid(kind, new, [*errors, *part.validate(kind, new, old)])
        return rider, part.warn(kind, new, old)

    async def _replace(
        self, bucket: Bucket, entry: Entry, new: Obj, rider: Rider, warnings: list[str], dry_run: bool
    ) -> Written:
        key = bucket.storage_key(entry.key)
        if is_finished(bucket.kind, new):
            return await self._remove(bucket, entry, new, dry_run)
        if dry_run:
            return Written(new, warnings=warnings)
        compares = [Compare(key, entry.revision), *rider.compares]
        await self.store.transact(compares, [*rider.operations, Put(key, stored_text(new))])
        return Written(new, bucket.entries.get(entry.key), warnings=warnings)

    # -- delete ----------------------------------------------------------------------------------------

    async def rewrite(self, kind: Kind, entry: Entry, obj: Obj) -> Entry | None:
        """Put an object in the place of an entry as it is; raises CompareFailed if that has changed since."""
        bucket = self.store.bucket(kind.resource)
        key = bucket.storage_key(entry.key)
        await self.store.transact([Compare(key, entry.revision)], [Put(key, stored_text(obj))])
        return bucket.entries.get(entry.key)

    async def remove(self, kind: Kind, entry: Entry, dry_run: bool = False) -> Written:
        """Take the object out of the store; raises CompareFailed if it has changed since."""
        return await self._remove(self.store.bucket(kind.resource), entry, None, dry_run)

    async def _remove(self, bucket: Bucket, entry: Entry, last: Obj | None, dry_run: bool) -> Written:
        """What is shown of it: the last state of an update, or the stored one under the revision of its
        end."""
        stored = entry.obj()
        rider = self._ride(bucket.kind, None, stored)
        shown = stored if last is None else last
        if not dry_run:
            key = bucket.storage_key(entry.key)
            compares = [Compare(key, entry.revision), *rider.compares]
            revision = await self.store.transact(compares, [*rider.operations, Delete(key)])
            if last is None:
                shown["metadata"]["resourceVersion"] = str(revision)
        return Written(shown, removed=True)

    def _ride(self, kind: Kind, new: Obj | None, old: Obj | None) -> Rider:
        companion = self._companions.get(kind.resource)
        return companion.ride(new, old) if companion else Rider()


def _key(obj: Obj) -> str:
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]
