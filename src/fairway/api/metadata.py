"""The metadata that the system, not the user, fills in: names, uids, times, generations. Pure."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

Obj = dict[str, Any]

# No vowels and no look-alikes, so that generated names spell nothing.
SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
LONGEST_GENERATED_BASE = 58
# Kept from the stored object whatever a client sends.
SYSTEM_FIELDS = (
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "uid",
)


def timestamp(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def generated_name(base: str) -> str:
    suffix = "".join(random.choices(SUFFIX_LETTERS, k=5))
    return base[:LONGEST_GENERATED_BASE] + suffix


def fill_on_create(obj: Obj, namespace: str, now: datetime) -> None:
    metadata = obj.setdefault("metadata", {})
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = generated_name(metadata["generateName"])
    if namespace:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"):
        metadata.pop(name, None)
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = timestamp(now)


def keep_on_update(new: Obj, old: Obj) -> None:
    """System fields come from the stored object."""
    metadata, before = new.setdefault("metadata", {}), old["metadata"]
    for name in SYSTEM_FIELDS:
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)
    for name in ("selfLink",):
        metadata.pop(name, None)


def desired_state(obj: Obj) -> Obj:
    """What `generation` counts changes of."""
    return {
        name: value for name, value in obj.items() if name not in ("metadata", "status", "kind", "apiVersion")
    }


def count_generation(new: Obj, old: Obj) -> None:
    if desired_state(new) != desired_state(old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def mark_deleted(obj: Obj, now: datetime, grace: int) -> None:
    """Set the deletion time; the object stays until its finalizers are gone or its grace is over."""
    metadata = obj["metadata"]
    metadata["deletionTimestamp"] = timestamp(now + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation"):
        metadata["generation"] += 1
