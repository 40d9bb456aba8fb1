"""Who owns what after an ordinary write: whoever changes a field takes it over, and nobody owns what is
gone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from fairway.api.apply.compare import ABSENT, compare, whole
from fairway.api.apply.fieldset import MEMBER, NOTHING, SELF, FieldSet, difference, outside, union
from fairway.api.apply.owners import (
    BadOwners,
    Owned,
    Owner,
    Owners,
    cap_updaters,
    is_reset,
    new_entry,
    read_foreign_owners,
    read_owners,
    store_owners,
    updater,
)
from fairway.api.apply.structure import Node, Struct, structure_of
from fairway.api.resources import Resource
from fairway.api.schema.conform import conform
from fairway.api.schema.shape import shape_of

Obj = dict[str, Any]

# The system's own, or what makes the object this object: never owned by anyone.
UNOWNED: Final[FieldSet] = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        **{
            f"f:{name}": {}
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        },
    },
}
_UNOWNED_METADATA: Final = UNOWNED["f:metadata"]


@cache
def zero(resource: Resource) -> Obj:
    """The object that creation starts from: what is there even if nobody says anything."""
    return conform({}, shape_of(resource.api_version, resource.kind))[0]


@cache
def structure(resource: Resource) -> Struct:
    return structure_of(resource.api_version, resource.kind)


def created_fields(resource: Resource, obj: Mapping[str, Any], reset: FieldSet) -> FieldSet:
    """What the creator of an object owns: all that is in it, but for the system's own and what the path
    ignores.

    The same as comparing it with nothing and taking away the rest, but this is on every creation's way.
    """
    nothing = zero(resource)
    result: FieldSet = {}
    fields = structure(resource).fields
    for name, value in obj.items():
        element, node = fields[name]
        if element in reset or (element in UNOWNED and name != "metadata"):
            continue
        found = _created(node, nothing.get(name, ABSENT), value)
        if name == "metadata" and found:
            found = {each: below for each, below in found.items() if each not in _UNOWNED_METADATA}
        if found is not None and (found or name != "metadata"):
            result[element] = found
    return result


def _created(node: Node, old: Any, new: Any) -> FieldSet | None:
    if old is ABSENT:
        return whole(node, new)
    if old == new:
        return None
    if node.atomic or not new:
        return MEMBER
    if type(node) is not Struct or not old:
        return {element: below for element, below in whole(node, new).items() if element != SELF}
    found: FieldSet = {}
    for name, value in new.items():
        element, child = node.fields[name]
        below = _created(child, old.get(name, ABSENT), value)
        if below is not None:
            found[element] = below
    return found or None


def track_creation(resource: Resource, obj: Obj, manager: str, now: str, reset: FieldSet) -> None:
    """Set the managedFields of an object that is about to be created."""
    metadata = obj["metadata"]
    given = metadata.pop("managedFields", None)
    fields = created_fields(resource, obj, reset)
    if not given or is_reset(given):
        if fields:
            metadata["managedFields"] = [new_entry(manager, resource.api_version, now, fields)]
        return
    owners = _sensible(given)
    disown(owners, fields, NOTHING, resource.api_version)
    _take(owners, updater(manager, resource.api_version), fields, now)
    store_owners(metadata, owners)


def track_update(
    resource: Resource, new: Obj, old: Obj, manager: str, now: str, reset: FieldSet, subresource: str = ""
) -> None:
    """Set the managedFields of an object that is about to be changed."""
    before = old["metadata"].get("managedFields")
    owners = _owners_for(new["metadata"].pop("managedFields", None), before, subresource)
    if not owners:
        return  # Nobody is tracked; the first apply will begin it.
    changed, removed = differing(resource, new, old, reset)
    disown(owners, changed, removed, resource.api_version)
    owner = updater(manager, resource.api_version, subresource)
    _take(owners, owner, difference(changed, UNOWNED), now)
    cap_updaters(owners)
    store_owners(new["metadata"], owners)


def _owners_for(given: Any, before: Any, subresource: str) -> Owners:
    """A client may send ownership along on the main path, changed on purpose; what makes no sense is passed
    over."""
    if not subresource and given and given != before:
        if is_reset(given):
            return Owners()
        if owners := _sensible(given):
            return owners
    return read_owners(before)


def _sensible(given: Any) -> Owners:
    try:
        return read_foreign_owners(given)
    except BadOwners:
        return Owners()


def differing(resource: Resource, new: Obj, old: Obj, reset: FieldSet) -> tuple[FieldSet, FieldSet]:
    """Fields changed and fields removed, but for those that the path ignores."""
    result = compare(structure(resource), plain(old), plain(new))
    return outside(result.changed, reset), outside(result.removed, reset)


def plain(obj: Obj) -> Obj:
    """Without what no comparison should see: kind and version, which stored objects lack, and ownership
    itself."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    rest = {name: value for name, value in obj.items() if name not in ("kind", "apiVersion", "metadata")}
    return {"metadata": metadata, **rest}


def disown(owners: Owners, changed: FieldSet, removed: FieldSet, api_version: str) -> None:
    gone = union(changed, removed)
    for owner, owned in list(owners.entries.items()):
        if owned.api_version == api_version:
            owners.set_fields(owner, difference(owned.fields, gone))


def _take(owners: Owners, owner: Owner, fields: FieldSet, now: str) -> None:
    if not fields:
        return
    known = owners.entries.get(owner)
    if known:
        fields = union(fields, known.fields)
    owners.entries[owner] = Owned(fields, owner.api_version, now)
