"""Tolerations of Pods, and the effects that taints of nodes have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.names import validate_qualified_name
from fairway.api.validation.fields import ErrorList, invalid_value, not_supported, required
from fairway.api.validation.names import label_value_errors

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
OPERATORS: Final = ("Equal", "Exists")
KEYLESS: Final = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
INT64: Final = range(-(2**63), 2**63)


def validate_tolerations(field: str, tolerations: Sequence[Obj]) -> ErrorList:
    errors: ErrorList = []
    for index, toleration in enumerate(tolerations):
        errors += validate_toleration(f"{field}[{index}]", toleration)
    return errors


def validate_toleration(field: str, toleration: Obj) -> ErrorList:
    errors: ErrorList = []
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    effect = toleration.get("effect", "")
    if key:
        if not key.startswith("node.kubernetes.io/"):
            errors += validate_qualified_name(f"{field}.key", key)
    elif operator != "Exists":
        errors.append(invalid_value(f"{field}.operator", operator, KEYLESS))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(invalid_value(f"{field}.effect", effect, detail))
    errors += _validate_value(field, operator, toleration.get("value", ""))
    return errors + validate_effect(f"{field}.effect", effect) if effect else errors


def _validate_value(field: str, operator: str, value: str) -> ErrorList:
    if operator == "Exists":
        detail = "value must be empty when `operator` is 'Exists'"
        return [invalid_value(f"{field}.operator", value, detail)] if value else []
    if operator in ("Equal", ""):
        details = label_value_errors(value) if value else []
        return [invalid_value(f"{field}.operator", value, ";".join(details))] if details else []
    if operator in ("Lt", "Gt"):
        return _validate_number(f"{field}.value", value)
    return [not_supported(f"{field}.operator", operator, OPERATORS)]


def _validate_number(field: str, value: str) -> ErrorList:
    errors: ErrorList = []
    if not re.fullmatch("-?(0|[1-9][0-9]*)", value) or value == "-0":
        detail = "must be a valid decimal integer in canonical form"
        errors.append(invalid_value(field, value, detail))
    if not re.fullmatch("[+-]?[0-9]+", value):
        errors.append(invalid_value(field, value, f'strconv.ParseInt: parsing "{value}": invalid syntax'))
    elif int(value) not in INT64:
        errors.append(invalid_value(field, value, f'strconv.ParseInt: parsing "{value}": value out of range'))
    return errors


def validate_effect(field: str, effect: str) -> ErrorList:
    if effect in EFFECTS:
        return []
    return [not_supported(field, effect, EFFECTS) if effect else required(field)]
