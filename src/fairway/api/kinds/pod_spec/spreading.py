"""Topology spread constraints: how evenly Pods are to be spread over zones, nodes and the like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.label_keys import validate_label_keys
from fairway.api.validation.fields import ErrorList, duplicate, invalid_value, not_supported, required
from fairway.api.validation.selectors import validate_label_selector

ACTIONS: Final = frozenset({"DoNotSchedule", "ScheduleAnyway"})
POLICIES: Final = frozenset({"Honor", "Ignore"})
POSITIVE: Final = "must be greater than zero"


def validate_spread_constraints(field: str, constraints: Sequence[Obj]) -> ErrorList:
    errors: ErrorList = []
    for index, constraint in enumerate(constraints):
        errors += _validate_constraint(f"{field}[{index}]", constraint, constraints[index + 1 :])
    return errors


def _validate_constraint(field: str, constraint: Obj, following: Sequence[Obj]) -> ErrorList:
    key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
    errors = _validate_positive(f"{field}.maxSkew", constraint.get("maxSkew", 0))
    if not key:
        errors.append(required(f"{field}.topologyKey", "can not be empty"))
    if action not in ACTIONS:
        errors.append(not_supported(f"{field}.whenUnsatisfiable", action, ACTIONS))
    if any((c.get("topologyKey", ""), c.get("whenUnsatisfiable", "")) == (key, action) for c in following):
        place = f"{field}.{{topologyKey, whenUnsatisfiable}}"
        errors.append(duplicate(place, f"{{{key}, {action}}}"))
    errors += _validate_domains(f"{field}.minDomains", constraint.get("minDomains"), action)
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(name)
        if policy is not None and policy not in POLICIES:
            errors.append(not_supported(f"{field}.{name}", policy, POLICIES))
    errors += validate_label_keys(field, constraint)
    return errors + validate_label_selector(f"{field}.labelSelector", constraint.get("labelSelector"))


def _validate_positive(field: str, value: int) -> ErrorList:
    return [] if value > 0 else [invalid_value(field, value, POSITIVE)]


def _validate_domains(field: str, domains: int | None, action: str) -> ErrorList:
    if domains is None:
        return []
    errors = _validate_positive(field, domains)
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid_value(field, domains, detail))
    return errors
