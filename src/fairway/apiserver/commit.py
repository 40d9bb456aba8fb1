"""Changing the store: the one way every create, update and delete goes, whatever the verb or the kind.

Read, prepare, validate, then one transaction that demands what was read still stands; if it does not,
all over again. Companions (addresses, ports) ride in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from fairway.api.errors import (
    StatusError,
    already_exists,
    conflict,
    forbidden,
    not_found,
    unavailable,
)
from fairway.api.kind import Kind, Obj
from fairway.api.metadata import count_generation, fill_on_create, keep_on_update
from fairway.api.resources import NAMESPACES, Resource
from fairway.api.validation.fields import ErrorList, invalid
from fairway.api.validation.metadata import validate_metadata, validate_metadata_update
from fairway.apiserver.encoding import decode_stored, stored_text
from fairway.apiserver.entry import Entry
from fairway.apiserver.store import Bucket, Store
from fairway.storage.backend import Compare, CompareFailed, Delete, Operation, Put

ATTEMPTS = 30


@dataclass(slots=True)
class Rider:
    """What goes along in a transaction."""

    compares: list[Compare] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)


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


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What a client demands of the stored object before it is changed."""

    uid: str = ""
    resource_version: str = ""


class Committer:
    def __init__(
        self,
        store: Store,
        companions: Mapping[Resource, Companion],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store = store
        self.clock = clock
        self._companions = companions

    # -- create ----------------------------------------------------------------------------------------

    async def create(self, kind: Kind, obj: Obj, namespace: str, *, dry_run: bool = False) -> Written:
        self._demand_namespace(kind, obj, namespace)
        kind.default(obj)
        fill_on_create(obj, namespace, self.clock())
        return await self._insert(kind, obj, namespace, dry_run)

    async def _insert(self, kind: Kind, obj: Obj, namespace: str, dry_run: bool) -> Written:
        """Allocation comes before validation, as in Kubernetes: what can't be had is refused first."""
        bucket = self.store.bucket(kind.resource)
        original = stored_text(obj) if kind.resource in self._companions else b""
        for _ in range(ATTEMPTS):
            rider = self._ride(kind, obj, None)
            self._prepare_new(kind, obj)
            name = obj["metadata"]["name"]
            key = bucket.key(namespace, name)
            if key in bucket.entries:
                raise already_exists(kind.resource, name)
            warnings = kind.warnings(obj)
            if dry_run:
                return Written(obj, created=True, warnings=warnings)
            compares = [Compare(bucket.storage_key(key), 0), *rider.compares]
            operations = [Put(bucket.storage_key(key), stored_text(obj)), *rider.operations]
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
        obj["metadata"].pop("managedFields", None)
        refuse_invalid(kind, obj, [*validate_new_metadata(kind, obj), *kind.validate(obj)])

    def _demand_namespace(self, kind: Kind, obj: Obj, namespace: str) -> None:
        if not kind.resource.namespaced:
            return
        entry = self.store.bucket(NAMESPACES).entries.get(namespace)
        if entry is None:
            raise not_found(NAMESPACES, namespace)
        if b'"deletionTimestamp"' in entry.body and "deletionTimestamp" in entry.obj()["metadata"]:
            raise namespace_ending(kind.resource, obj.get("metadata", {}).get("name", ""), namespace)

    # -- update ----------------------------------------------------------------------------------------

    async def update(
        self,
        kind: Kind,
        key: str,
        change: Callable[[Obj], Obj],
        *,
        prepare: Callable[[Kind, Obj, Obj], None],
        validate: Callable[[Obj, Obj], ErrorList],
        warn: Callable[[Obj, Obj], list[str]] = lambda new, old: [],
        allocate: bool = False,
        dry_run: bool = False,
    ) -> Written:
        """`change` makes the wanted object of the stored one; it is called again if another write wins.

        `allocate` is for changes of the object itself, which may cost it what it holds, or need more.
        """
        bucket = self.store.bucket(kind.resource)
        name = key.rpartition("/")[2]
        for _ in range(ATTEMPTS):
            entry = bucket.entries.get(key)
            if entry is None:
                raise not_found(kind.resource, name)
            old = entry.obj()
            new = change(entry.obj())
            demand(kind.resource, old, wanted_preconditions(new))
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
            keep_on_update(new, old)
            rider = Rider()
            if allocate and kind.resource in self._companions:
                kind.default(new)
                rider = self._ride(kind, new, old)
            prepare(kind, new, old)
            new["metadata"].pop("managedFields", None)
            if kind.generation:
                count_generation(new, old)
            errors = validate_metadata_update(new["metadata"], old["metadata"])
            refuse_invalid(kind, new, [*errors, *validate(new, old)])
            warnings = warn(new, old)
            if same(new, old):
                return Written(old, entry, warnings=warnings)
            try:
                return await self._replace(bucket, entry, new, rider, warnings, dry_run)
            except CompareFailed:
                await self.store.advance()
        raise conflict(kind.resource, name)

    async def _replace(
        self, bucket: Bucket, entry: Entry, new: Obj, rider: Rider, warnings: list[str], dry_run: bool
    ) -> Written:
        key = bucket.storage_key(entry.key)
        if is_finished(bucket.kind, new):
            return await self._remove(bucket, entry, new, dry_run)
        if dry_run:
            return Written(new, warnings=warnings)
        compares = [Compare(key, entry.revision), *rider.compares]
        await self.store.transact(compares, [Put(key, stored_text(new)), *rider.operations])
        return Written(new, bucket.entries.get(entry.key), warnings=warnings)

    # -- delete ----------------------------------------------------------------------------------------

    async def remove(self, kind: Kind, entry: Entry, dry_run: bool = False) -> Written:
        """Take the object out of the store; raises CompareFailed if it has changed since."""
        return await self._remove(self.store.bucket(kind.resource), entry, entry.obj(), dry_run)

    async def _remove(self, bucket: Bucket, entry: Entry, last: Obj, dry_run: bool) -> Written:
        rider = self._ride(bucket.kind, None, entry.obj())
        if not dry_run:
            key = bucket.storage_key(entry.key)
            compares = [Compare(key, entry.revision), *rider.compares]
            await self.store.transact(compares, [Delete(key), *rider.operations])
        return Written(last, removed=True)

    def _ride(self, kind: Kind, new: Obj | None, old: Obj | None) -> Rider:
        companion = self._companions.get(kind.resource)
        return companion.ride(new, old) if companion else Rider()


def validate_new_metadata(kind: Kind, obj: Obj) -> ErrorList:
    return validate_metadata(
        obj["metadata"], namespaced=kind.resource.namespaced, name_errors=kind.name_errors
    )


def wanted_preconditions(new: Obj) -> Preconditions:
    metadata = new.get("metadata") or {}
    return Preconditions(metadata.get("uid") or "", metadata.get("resourceVersion") or "")


def demand(resource: Resource, old: Obj, wanted: Preconditions) -> None:
    """409 unless the stored object is the one the client means."""
    metadata = old["metadata"]
    name = metadata["name"]
    if wanted.uid and wanted.uid != metadata["uid"]:
        raise conflict(
            resource,
            name,
            f"Precondition failed: UID in precondition: {wanted.uid}, UID in object meta: {metadata['uid']}",
        )
    if wanted.resource_version not in ("", "0", metadata["resourceVersion"]):
        raise conflict(resource, name)


def refuse_invalid(kind: Kind, obj: Obj, errors: ErrorList) -> None:
    if errors:
        resource = kind.resource
        raise invalid(resource.kind, resource.group, obj["metadata"].get("name", ""), errors)


def same(new: Obj, old: Obj) -> bool:
    ignored = ("kind", "apiVersion")
    return {k: v for k, v in new.items() if k not in ignored} == {
        k: v for k, v in old.items() if k not in ignored
    }


def is_finished(kind: Kind, obj: Obj) -> bool:
    """Marked as deleted and nothing holds it any more."""
    metadata = obj["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if kind.resource == NAMESPACES and (obj.get("spec") or {}).get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")


def namespace_ending(resource: Resource, name: str, namespace: str) -> StatusError:
    error = forbidden(
        resource,
        name,
        f"unable to create new content in namespace {namespace} because it is being terminated",
    )
    assert error.details is not None
    error.details["causes"] = [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    return error
