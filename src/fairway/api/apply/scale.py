"""Ownership of a workload's replicas, as the scale subresource sees it and writes it back."""

from __future__ import annotations

from typing import Any

from fairway.api.apply.fieldset import difference, has, set_of
from fairway.api.apply.owners import Owned, Owners, read_owners, write_owners

PATH = ("f:spec", "f:replicas")
SCALE_VERSION = "autoscaling/v1"

Entries = list[dict[str, Any]]


def scale_owners(entries: Entries | None, version: str) -> Entries:
    """Those who own the replicas of a workload, as owners of the replicas of its scale."""
    owners = Owners()
    for owner, owned in read_owners(entries).entries.items():
        if owned.api_version == version and has(owned.fields, PATH):
            owners.entries[owner] = Owned(set_of(*PATH), SCALE_VERSION, owned.time)
    return write_owners(owners)


def workload_owners(entries: Entries | None, scale_entries: Entries | None, version: str) -> Entries:
    """A workload's owners after a write to its scale."""
    parent, scale = read_owners(entries), read_owners(scale_entries)
    result: dict[Any, Owned] = {}
    for owner, owned in parent.entries.items():
        if owned.api_version != version:
            continue
        if not has(owned.fields, PATH):
            result[owner] = owned
        elif owner in scale.entries:
            del scale.entries[owner]
            result[owner] = owned
        elif rest := difference(owned.fields, set_of(*PATH)):
            result[owner] = Owned(rest, version, owned.time)
    for owner, owned in scale.entries.items():
        if has(owned.fields, PATH):
            # Kubernetes notes no time for these.
            known = parent.entries.get(owner)
            result[owner] = Owned(set_of(*PATH), version, known.time if known else None)
    return write_owners(Owners(result))
