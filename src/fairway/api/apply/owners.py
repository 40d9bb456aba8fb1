"""metadata.managedFields: who owns which fields, read, written and kept within bounds.

One entry belongs to one manager doing one kind of operation; updates are told apart by API version as well.
What owning means is in `tracking` and `applying`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from fairway.api.apply.elements import BadElement, canonical_set
from fairway.api.apply.fieldset import FieldSet, union

APPLY: Final = "Apply"
UPDATE: Final = "Update"
ANCIENT: Final = "ancient-changes"
MOST_UPDATERS: Final = 10

_encode = msgspec.json.Encoder().encode


class BadOwners(ValueError):
    """The managedFields make no sense."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who: all that tells one entry from another."""

    manager: str
    operation: str
    api_version: str = ""
    """Empty for appliers: they own what they applied last, in whatever version."""
    subresource: str = ""

    @property
    def identity(self) -> str:
        """What owners are sorted by."""
        parts = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        return _encode({name: part for name, part in parts.items() if part}).decode()

    def __str__(self) -> str:
        """As conflicts name them."""
        text = msgspec.json.encode(self.manager).decode()
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


@dataclass(frozen=True, slots=True)
class Owned:
    """What, since when, and named in which version."""

    fields: FieldSet
    api_version: str
    time: str | None = None


@dataclass(slots=True)
class Owners:
    entries: dict[Owner, Owned] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def copy(self) -> Owners:
        return Owners(dict(self.entries))

    def set_fields(self, owner: Owner, fields: FieldSet) -> None:
        """Give an owner these fields instead; with none, it is one no longer."""
        if fields:
            self.entries[owner] = replace(self.entries[owner], fields=fields)
        else:
            self.entries.pop(owner, None)


def updater(manager: str, api_version: str, subresource: str = "") -> Owner:
    return Owner(manager, UPDATE, api_version, subresource)


def applier(manager: str, subresource: str = "") -> Owner:
    return Owner(manager, APPLY, "", subresource)


def read_owners(entries: Iterable[Mapping[str, Any]] | None) -> Owners:
    """From an object's managedFields. Raises BadOwners."""
    owners = Owners()
    for entry in entries or ():
        operation, api_version = entry.get("operation", ""), entry.get("apiVersion", "")
        if operation not in (APPLY, UPDATE):
            raise BadOwners("operation must be `Apply` or `Update`")
        if not api_version:
            raise BadOwners("apiVersion must not be empty")
        if entry.get("fieldsType") != "FieldsV1":
            raise BadOwners("missing or unknown fieldsType")
        owner = Owner(
            entry.get("manager", ""),
            operation,
            api_version if operation == UPDATE else "",
            entry.get("subresource", ""),
        )
        owners.entries[owner] = Owned(entry.get("fieldsV1") or {}, api_version, entry.get("time"))
    return owners


def read_foreign_owners(entries: Iterable[Mapping[str, Any]] | None) -> Owners:
    """The same, for managedFields that a client sent: spelled in other ways, perhaps."""
    owners = read_owners(entries)
    try:
        for owner, owned in owners.entries.items():
            owners.entries[owner] = replace(owned, fields=canonical_set(owned.fields))
    except BadElement as error:
        raise BadOwners(str(error)) from error
    return owners


def is_reset(entries: Any) -> bool:
    """`managedFields: [{}]`: all ownership is to be forgotten."""
    return isinstance(entries, list) and len(entries) == 1 and entries[0] == {}


def write_owners(owners: Owners) -> list[dict[str, Any]]:
    """managedFields, sorted: appliers first, then by time and name."""
    if len(owners.entries) == 1:
        return [_entry(*item) for item in owners.entries.items()]
    return [_entry(*item) for item in sorted(owners.entries.items(), key=_order)]


def _order(item: tuple[Owner, Owned]) -> tuple[str, str, str, str, str]:
    owner, owned = item
    return owner.operation, owned.time or "", owner.manager, owned.api_version, owner.subresource


def _entry(owner: Owner, owned: Owned) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if owner.manager:
        entry["manager"] = owner.manager
    entry["operation"] = owner.operation
    entry["apiVersion"] = owned.api_version
    if owned.time:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.fields
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry


def new_entry(manager: str, api_version: str, time: str, fields: FieldSet) -> dict[str, Any]:
    """The one entry of an object that was just created."""
    entry = {"manager": manager} if manager else {}
    rest = {"operation": UPDATE, "apiVersion": api_version, "time": time, "fieldsType": "FieldsV1"}
    return {**entry, **rest, "fieldsV1": fields}


def store_owners(metadata: dict[str, Any], owners: Owners) -> None:
    if owners:
        metadata["managedFields"] = write_owners(owners)
    else:
        metadata.pop("managedFields", None)


def cap_updaters(owners: Owners) -> None:
    """Beyond ten, the updaters of longest ago become one, per version."""
    updaters = [owner for owner in owners.entries if owner.operation == UPDATE]
    excess = len(updaters) - MOST_UPDATERS
    if excess <= 0:
        return
    entries = owners.entries
    updaters.sort(key=lambda owner: (entries[owner].time or "", owner.identity))
    first: dict[str, Owner] = {}
    for owner in updaters:
        if excess <= 0:
            return
        version = entries[owner].api_version
        oldest = first.setdefault(version, owner)
        if oldest is owner:
            continue
        bucket = updater(ANCIENT, version)
        if bucket not in entries:
            entries[bucket] = entries.pop(oldest)
        owned = entries.pop(owner)
        entries[bucket] = Owned(union(owned.fields, entries[bucket].fields), version, owned.time)
        excess -= 1
