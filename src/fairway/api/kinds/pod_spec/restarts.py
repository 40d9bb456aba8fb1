"""Whether and when a single container is started again, after its end or for a resize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.validation.fields import (
    ErrorList,
    duplicate,
    invalid_value,
    not_supported,
    required,
    too_many,
)

POLICIES: Final = frozenset({"Always", "Never", "OnFailure"})
ACTIONS: Final = frozenset({"Restart", "RestartAllContainers"})
OPERATORS: Final = frozenset({"In", "NotIn"})
RESIZABLE: Final = frozenset({"cpu", "memory"})
RESIZE_POLICIES: Final = frozenset({"NotRequired", "RestartContainer"})
MOST_RULES: Final = 20
MOST_CODES: Final = 255
NEEDS_POLICY: Final = "must specify restartPolicy when restart rules are used"


def validate_restart_policy(field: str, container: Obj) -> ErrorList:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    errors: ErrorList = []
    if policy is None and not rules:
        return []
    if policy is None:
        errors.append(required(f"{field}.restartPolicy", NEEDS_POLICY))
    elif policy not in POLICIES:
        errors.append(not_supported(f"{field}.restartPolicy", policy, POLICIES))
    if len(rules) > MOST_RULES:
        errors.append(too_many(f"{field}.restartPolicyRules", len(rules), MOST_RULES))
    for index, rule in enumerate(rules):
        errors += _validate_rule(f"{field}.restartPolicyRules[{index}]", rule)
    return errors


def validate_init_restart_policy(field: str, container: Obj) -> ErrorList:
    if container.get("restartPolicy") is None:
        if container.get("restartPolicyRules"):
            return [required(f"{field}.restartPolicy", NEEDS_POLICY)]
        return []
    return validate_restart_policy(field, container)


def _validate_rule(field: str, rule: Obj) -> ErrorList:
    errors: ErrorList = []
    if rule.get("action") not in ACTIONS:
        errors.append(not_supported(f"{field}.action", rule.get("action", ""), ACTIONS))
    codes = rule.get("exitCodes")
    if codes is None:
        return [*errors, required(f"{field}.exitCodes", "must be specified")]
    if codes.get("operator") not in OPERATORS:
        errors.append(not_supported(f"{field}.exitCodes.operator", codes.get("operator", ""), OPERATORS))
    if len(codes.get("values") or ()) > MOST_CODES:
        errors.append(too_many(f"{field}.exitCodes.values", len(codes["values"]), MOST_CODES))
    return errors


def validate_resize_policy(field: str, policies: Sequence[Obj], restart_policy: str) -> ErrorList:
    """Complaints but for duplicates name the list: so does Kubernetes."""
    errors: ErrorList = []
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            errors.append(duplicate(f"{field}[{index}]", name))
        seen.add(name)
        for value, supported in ((name, RESIZABLE), (restart, RESIZE_POLICIES)):
            if value not in supported:
                errors.append(not_supported(field, value, supported) if value else required(field))
        if restart_policy == "Never" and restart != "NotRequired":
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid_value(field, restart, detail))
    return errors
