"""Leases: who leads, who is alive."""

from __future__ import annotations

from fairway.api.kind import Kind, Obj
from fairway.api.resources import LEASES
from fairway.api.validation.fields import ErrorList, invalid_value
from fairway.api.validation.values import NEGATIVE


def drop_election(lease: Obj) -> None:
    """Elections that the server itself coordinates are not held here."""
    for name in ("strategy", "preferredHolder"):
        (lease.get("spec") or {}).pop(name, None)


def validate(lease: Obj) -> ErrorList:
    spec = lease.get("spec") or {}
    errors: ErrorList = []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        errors.append(invalid_value("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        errors.append(invalid_value("spec.leaseTransitions", transitions, NEGATIVE))
    return errors


LEASE = Kind(
    LEASES,
    prepare_create=drop_election,
    prepare_update=lambda new, old: drop_election(new),
    validate=validate,
    validate_update=lambda new, old: validate(new),
    create_on_update=True,
    unconditional_update=False,
)
