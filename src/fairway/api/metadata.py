"""The metadata that the system, not the user, fills in: names, uids, times, generations. Pure."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

from fairway.api.timestamps import stamp

Obj = dict[str, Any]

# No vowels and no look-alikes, so that generated names spell nothing.
SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
LONGEST_GENERATED_BASE = 58
# Kept from the stored object whatever a client sends.
SYSTEM_FIELDS = ("creationTimestamp", "generation")
# Kept from the stored object unless a client sends them; validation then refuses another value.
STANDING_FIELDS = ("uid", "name", "namespace", "deletionGracePeriodSeconds")


def new_uid() -> str:
    """A random UUID. It must be unique, not secret, so the kernel need not be asked for each."""
    digits = f"{random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def timestamp(now: datetime) -> str:
    return stamp(now.timestamp())


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
    metadata["uid"] = new_uid()
    metadata["creationTimestamp"] = timestamp(now)


def keep_on_update(new: Obj, old: Obj) -> None:
    """System fields come from the stored object; a deletion that has begun can't be taken back."""
    metadata, before = new.setdefault("metadata", {}), old["metadata"]
    for name in SYSTEM_FIELDS:
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)
    for name in STANDING_FIELDS:
        if name in before and not metadata.get(name):
            metadata[name] = before[name]
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    metadata.pop("selfLink", None)


def without_repeated_owners(metadata: Obj) -> list[str]:
    """Owner references given twice are kept once; the uids of those that were dropped."""
    references = metadata.get("ownerReferences")
    if not references or len(references) == 1:
        return []
    kept: list[Any] = []
    repeated: list[str] = []
    for reference in references:
        if reference in kept:
            repeated.append(str(reference.get("uid", "")))
        else:
            kept.append(reference)
    if repeated:
        metadata["ownerReferences"] = kept
    return repeated


def desired_state(obj: Obj) -> Obj:
    """What `generation` counts changes of."""
    return {
        name: value for name, value in obj.items() if name not in ("metadata", "status", "kind", "apiVersion")
    }


def count_generation(new: Obj, old: Obj) -> None:
    if desired_state(new) != desired_state(old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def mark_deleted(metadata: Obj, now: datetime, grace: int) -> None:
    """Set the deletion time; the object stays until its finalizers are gone or its grace is over."""
    if metadata.get("generation") and "deletionGracePeriodSeconds" not in metadata:
        metadata["generation"] += 1
    metadata["deletionTimestamp"] = timestamp(now + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
