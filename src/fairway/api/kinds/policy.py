"""Pod disruption budgets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Kind, Obj, Status
from fairway.api.kinds.workloads.numbers import validate_counts
from fairway.api.kinds.workloads.template import keep_status, without_status
from fairway.api.resources import POD_DISRUPTION_BUDGETS
from fairway.api.validation.fields import (
    ErrorList,
    duplicate,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from fairway.api.validation.internal_form import shown
from fairway.api.validation.names import path_segment_name, qualified_name_errors, regex_error
from fairway.api.validation.selectors import validate_label_selector
from fairway.api.validation.values import validate_at_most_all, validate_number_or_percent

EVICTION_POLICIES: Final = frozenset({"AlwaysAllow", "IfHealthyBudget"})
COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
STATUSES: Final = frozenset({"True", "False", "Unknown"})
REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
REASON_RULE: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
)
REASONS: Final = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
LONGEST_REASON: Final = 1024
LONGEST_MESSAGE: Final = 32 * 1024


def validate(budget: Obj) -> ErrorList:
    spec = budget["spec"]
    errors: ErrorList = []
    names = ("minAvailable", "maxUnavailable")
    if all(spec.get(name) is not None for name in names):
        value = shown("policy.v1.PodDisruptionBudgetSpec", spec)
        detail = "minAvailable and maxUnavailable cannot be both set"
        errors.append(invalid_value("spec", value, detail))
    for name in names:
        if (amount := spec.get(name)) is not None:
            errors += validate_number_or_percent(f"spec.{name}", amount)
            errors += validate_at_most_all(f"spec.{name}", amount)
    errors += validate_label_selector("spec.selector", spec.get("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in EVICTION_POLICIES:
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, EVICTION_POLICIES))
    return errors


def validate_status_update(new: Obj, old: Obj) -> ErrorList:
    status = new.get("status") or {}
    errors = validate_conditions("status.conditions", status.get("conditions") or ())
    return errors + validate_counts("status", status, COUNTS)


def validate_conditions(field: str, conditions: Sequence[Obj]) -> ErrorList:
    """Conditions of the newer sort, in which nothing may be missing."""
    errors: ErrorList = []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind in seen:
            errors.append(duplicate(f"{field}[{index}].type", kind))
        seen.add(kind)
        errors += _validate_condition(f"{field}[{index}]", condition)
    return errors


def _validate_condition(field: str, condition: Obj) -> ErrorList:
    kind, reason = condition.get("type", ""), condition.get("reason", "")
    errors = invalid_for_each(f"{field}.type", kind, qualified_name_errors(kind))
    if condition.get("status") not in STATUSES:
        errors.append(not_supported(f"{field}.status", condition.get("status", ""), STATUSES))
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        detail = "must be greater than or equal to zero"
        errors.append(invalid_value(f"{field}.observedGeneration", generation, detail))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{field}.lastTransitionTime", "must be set"))
    if not reason:
        errors.append(required(f"{field}.reason", "must be set"))
    elif not re.fullmatch(REASON, reason):
        errors.append(invalid_value(f"{field}.reason", reason, regex_error(REASON_RULE, REASON, *REASONS)))
    for name, longest in (("reason", LONGEST_REASON), ("message", LONGEST_MESSAGE)):
        if len(condition.get(name, "")) > longest:
            errors.append(too_long(f"{field}.{name}", longest))
    return errors


POD_DISRUPTION_BUDGET = Kind(
    POD_DISRUPTION_BUDGETS,
    prepare_create=without_status(dict.fromkeys(COUNTS, 0)),
    prepare_update=keep_status,
    validate=validate,
    validate_update=lambda new, old: validate(new),
    status=Status(validate_update=validate_status_update),
    generation=True,
    unconditional_update=False,
    name_errors=path_segment_name,
)
