"""Label selectors in objects: whether they can be understood at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_for_each,
    invalid_value,
    required,
)
from fairway.api.validation.names import label_value_errors, qualified_name_errors

WITH_VALUES: Final = ("In", "NotIn")
WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")

Object = Mapping[str, Any]


def validate_labels(field: str, value: Mapping[str, str] | None) -> ErrorList:
    """A map of labels; complaints about keys and about values all name the map."""
    errors: ErrorList = []
    for key, text in sorted((value or {}).items()):
        errors += validate_label_key(field, key)
        errors += invalid_for_each(field, text, label_value_errors(text))
    return errors


def validate_label_key(field: str, key: str) -> ErrorList:
    return invalid_for_each(field, key, qualified_name_errors(key))


def validate_label_selector(field: str, selector: Object | None) -> ErrorList:
    selector = selector or {}
    errors = validate_labels(f"{field}.matchLabels", selector.get("matchLabels"))
    for index, expression in enumerate(selector.get("matchExpressions") or []):
        errors += validate_requirement(f"{field}.matchExpressions[{index}]", expression)
    return errors


def validate_requirement(field: str, expression: Object) -> ErrorList:
    key, operator = expression.get("key") or "", expression.get("operator") or ""
    values = expression.get("values") or []
    errors = validate_operator(field, operator, values) + validate_label_key(f"{field}.key", key)
    for index, value in enumerate(values):
        errors += invalid_for_each(f"{field}.values[{index}]", value, label_value_errors(value))
    return errors


def validate_operator(field: str, operator: str, values: list[str]) -> ErrorList:
    if operator not in WITH_VALUES + WITHOUT_VALUES:
        return [invalid_value(f"{field}.operator", operator, "not a valid selector operator")]
    if operator in WITH_VALUES and not values:
        return [required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in WITHOUT_VALUES and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [forbidden_field(f"{field}.values", detail)]
    return []


def shown_selector(selector: Object | None) -> dict[str, Any] | None:
    """The selector as error messages show it: fields in their declared order, empty ones left out."""
    if selector is None:
        return None
    match_labels, expressions = selector.get("matchLabels"), selector.get("matchExpressions")
    shown: dict[str, Any] = {}
    if match_labels:
        shown["matchLabels"] = dict(sorted(match_labels.items()))
    if expressions:
        shown["matchExpressions"] = [_shown_expression(expression) for expression in expressions]
    return shown


def _shown_expression(expression: Object) -> dict[str, Any]:
    values = expression.get("values")
    shown = {"key": expression.get("key") or "", "operator": expression.get("operator") or ""}
    return {**shown, "values": values} if values else shown
