"""Server-side apply: an object as one manager wants it, merged into the object as it is.

The manager gets what it applies, takes what others own only by agreeing with them or by force, and gives up
what it applied before and no longer does; that goes from the object unless someone else owns it, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fairway.api.apply.compare import compare
from fairway.api.apply.configuration import claimed, faults
from fairway.api.apply.conflicts import Conflicts
from fairway.api.apply.fieldset import NOTHING, FieldSet, difference, intersection, outside, union
from fairway.api.apply.last_applied import UPGRADING, agreed_fields, synced
from fairway.api.apply.merge import merged, without
from fairway.api.apply.owners import (
    BadOwners,
    Owned,
    Owner,
    Owners,
    applier,
    read_owners,
    store_owners,
    updater,
)
from fairway.api.apply.structure import with_named_fields
from fairway.api.apply.tracking import UNOWNED, Obj, created_fields, disown, plain, structure
from fairway.api.errors import bad_request, internal_error
from fairway.api.resources import Resource

BEFORE_FIRST_APPLY = "before-first-apply"


@dataclass(frozen=True, slots=True)
class Application:
    """One request to apply a configuration."""

    resource: Resource
    configuration: Obj
    manager: str
    now: str
    force: bool = False
    subresource: str = ""
    reset: FieldSet = field(default_factory=dict)
    """Fields that the path ignores."""

    @property
    def owner(self) -> Owner:
        return applier(self.manager, self.subresource)


def apply(application: Application, live: Obj) -> Obj:
    """The object to be stored, still without defaults; `live` is the zero object if there is none yet.

    Raises StatusError: 400 for a configuration that does not fit, 409 for conflicts.
    """
    check(application)
    owners = _owners(application, live)
    try:
        new = _applied(application, live, owners.copy(), application.force)
    except Conflicts as conflicts:
        if application.manager != UPGRADING:
            raise
        new = _applied_over_old_kubectl(application, live, owners, conflicts)
    return synced(new, application.configuration) if application.manager == UPGRADING else new


def check(application: Application) -> None:
    wanted, resource = application.configuration, application.resource
    if (wanted.get("apiVersion"), wanted.get("kind")) != (resource.api_version, resource.kind):
        raise bad_request(f"invalid object type: {_type_text(wanted)}")
    given = wanted.get("metadata")
    metadata = given if isinstance(given, dict) else {}
    if metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    if text := faults(structure(resource), wanted):
        place = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {_type_text(wanted)}"
        raise bad_request(f"failed to create typed patch object ({place}): {text}")


def _type_text(wanted: Obj) -> str:
    version, kind = wanted.get("apiVersion"), wanted.get("kind")
    version = version if isinstance(version, str) and version.count("/") < 2 else ""
    group, _, short = version.rpartition("/")
    return f"{group}/{short}, Kind={kind if isinstance(kind, str) else ''}"


def _owners(application: Application, live: Obj) -> Owners:
    """Those of the live object; if nobody was tracked so far, all that is there belongs to the time
    before."""
    try:
        owners = read_owners(live["metadata"].get("managedFields"))
    except BadOwners as error:
        raise internal_error(f"failed to decode managed fields: {error}") from error
    if not owners and live["metadata"].get("uid"):
        resource = application.resource
        owner = updater(BEFORE_FIRST_APPLY, resource.api_version, application.subresource)
        fields = created_fields(resource, plain(live), application.reset)
        if fields:
            owners.entries[owner] = Owned(fields, resource.api_version, application.now)
    return owners


def _applied(application: Application, live: Obj, owners: Owners, force: bool) -> Obj:
    resource, owner = application.resource, application.owner
    whole = structure(resource)
    before = plain(live)
    last = owners.entries.get(owner)
    claims = outside(claimed(whole, application.configuration), application.reset)
    owners.entries[owner] = Owned(claims, resource.api_version, last.time if last else None)
    new = merged(whole, before, application.configuration)
    new = {name: value for name, value in new.items() if name not in ("kind", "apiVersion")}
    if last and last.api_version == resource.api_version:
        new = _pruned(resource, new, owners, last.fields)
    _settle(application, before, new, owners, force)
    time = application.now if new != before else owners.entries[owner].time
    owners.entries[owner] = Owned(difference(claims, UNOWNED), resource.api_version, time)
    if not owners.entries[owner].fields:
        del owners.entries[owner]
    result = {**new, "metadata": dict(new.get("metadata") or {})}
    store_owners(result["metadata"], owners)
    return result


def _settle(application: Application, old: Obj, new: Obj, owners: Owners, force: bool) -> None:
    """Take from the others what changes; without force, they must not own any of it."""
    difference_ = compare(structure(application.resource), old, new)
    changed = outside(difference_.changed, application.reset)
    removed = outside(difference_.removed, application.reset)
    version, mine = application.resource.api_version, application.owner
    others = Owners({owner: owned for owner, owned in owners.entries.items() if owner != mine})
    contested = {
        owner: both
        for owner, owned in others.entries.items()
        if owned.api_version == version and (both := intersection(owned.fields, changed))
    }
    if contested and not force:
        raise Conflicts(contested)
    disown(others, changed, removed, version)
    owners.entries = {**others.entries, mine: owners.entries[mine]}


def _pruned(resource: Resource, new: Obj, owners: Owners, last: FieldSet) -> Obj:
    """Without what the manager applied last and no longer does, as far as nobody else owns it either."""
    whole = structure(resource)
    last = with_named_fields(whole, last)
    everything = with_named_fields(whole, claimed(whole, new))
    owned: FieldSet = NOTHING
    for each in owners.entries.values():
        if each.api_version == resource.api_version:
            owned = union(owned, each.fields)
    bare = without(whole, new, last) or {}
    kept = union(with_named_fields(whole, claimed(whole, bare)), with_named_fields(whole, owned))
    bare = without(whole, new, difference(everything, kept)) or {}
    left = with_named_fields(whole, claimed(whole, bare))
    return without(whole, new, intersection(difference(everything, left), last)) or {}


def _applied_over_old_kubectl(
    application: Application, live: Obj, owners: Owners, conflicts: Conflicts
) -> Obj:
    """kubectl's own earlier way of applying left an annotation; what it says and still holds is not
    contested."""
    agreed = agreed_fields(application.resource, live)
    if agreed is None:
        raise conflicts
    left = {owner: rest for owner, both in conflicts.sets.items() if (rest := difference(both, agreed))}
    if left:
        raise Conflicts(left)
    return _applied(application, live, owners, force=True)
