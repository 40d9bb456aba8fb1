"""Counts in workloads: replicas in a status, and how many Pods a roll-out may take down or add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fairway.api.kind import Obj
from fairway.api.validation.fields import ErrorList, invalid_value
from fairway.api.validation.names import percent_errors
from fairway.api.validation.values import validate_non_negative

TOO_MANY: Final = "cannot be greater than status.replicas"


def amount_of(value: Any) -> int:
    """The number or the percentage, whichever it is; what is neither is nothing."""
    if isinstance(value, int):
        return value
    return 0 if value is None or percent_errors(value) else int(value[:-1])


def validate_counts(field: str, status: Obj, names: Sequence[str]) -> ErrorList:
    errors: ErrorList = []
    for name in names:
        errors += validate_non_negative(f"{field}.{name}", status.get(name) or 0)
    return errors


def validate_within_replicas(
    field: str, status: Obj, names: Sequence[str], ready: str = "readyReplicas"
) -> ErrorList:
    """No more of any sort than there are, and no more available than ready."""
    replicas = status.get("replicas", 0)
    errors: ErrorList = [
        invalid_value(f"{field}.{name}", status.get(name, 0), TOO_MANY)
        for name in names
        if status.get(name, 0) > replicas
    ]
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        detail = f"cannot be greater than {ready}"
        errors.append(invalid_value(f"{field}.availableReplicas", available, detail))
    return errors


def validate_collisions(new: Obj, old: Obj) -> ErrorList:
    """A count that only ever grows."""
    count, before = (each.get("status", {}).get("collisionCount") for each in (new, old))
    if before is None or (count is not None and count >= before):
        return []
    return [invalid_value("status.collisionCount", count or 0, "cannot be decremented")]
