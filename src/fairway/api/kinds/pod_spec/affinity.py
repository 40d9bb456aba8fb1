"""Affinity: which nodes, and which Pods' company, a Pod seeks or avoids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.label_keys import validate_label_keys
from fairway.api.kinds.pod_spec.names import validate_qualified_name, validate_subdomain
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_for_each,
    invalid_value,
    required,
)
from fairway.api.validation.names import dns_label_errors, label_value_errors
from fairway.api.validation.selectors import validate_label_selector

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
WEIGHT: Final = "must be in the range 1-100"
OPERATOR: Final = "not a valid selector operator"


def validate_affinity(field: str, affinity: Obj) -> ErrorList:
    errors: ErrorList = []
    if (node := affinity.get("nodeAffinity")) is not None:
        errors += _validate_node_affinity(f"{field}.nodeAffinity", node)
    for name in ("podAffinity", "podAntiAffinity"):
        if (pod := affinity.get(name)) is not None:
            errors += _validate_pod_affinity(f"{field}.{name}", pod)
    return errors


def _validate_node_affinity(field: str, affinity: Obj) -> ErrorList:
    errors: ErrorList = []
    if (selector := affinity.get(REQUIRED)) is not None:
        errors += validate_node_selector(f"{field}.{REQUIRED}", selector)
    for index, term in enumerate(affinity.get(PREFERRED) or ()):
        place = f"{field}.{PREFERRED}[{index}]"
        errors += _validate_weight(place, term)
        # Values of labels are not looked at: such terms have been accepted for too long.
        errors += _validate_node_term(f"{place}.preference", term.get("preference") or {}, values=False)
    return errors


def validate_node_selector(field: str, selector: Obj) -> ErrorList:
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        return [required(f"{field}.nodeSelectorTerms", "must have at least one node selector term")]
    errors: ErrorList = []
    for index, term in enumerate(terms):
        errors += _validate_node_term(f"{field}.nodeSelectorTerms[{index}]", term, values=True)
    return errors


def _validate_node_term(field: str, term: Obj, values: bool) -> ErrorList:
    errors: ErrorList = []
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        errors += _validate_expression(f"{field}.matchExpressions[{index}]", requirement, values)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        errors += _validate_field(f"{field}.matchFields[{index}]", requirement)
    return errors


def _validate_expression(field: str, requirement: Obj, check_values: bool) -> ErrorList:
    values = requirement.get("values") or []
    errors = _validate_operator(field, requirement.get("operator", ""), values)
    errors += validate_qualified_name(f"{field}.key", requirement.get("key", ""))
    if check_values:
        for index, value in enumerate(values):
            errors += invalid_for_each(f"{field}.values[{index}]", value, label_value_errors(value))
    return errors


def _validate_operator(field: str, operator: str, values: Sequence[str]) -> ErrorList:
    if operator in ("In", "NotIn"):
        detail = "must be specified when `operator` is 'In' or 'NotIn'"
        return [] if values else [required(f"{field}.values", detail)]
    if operator in ("Exists", "DoesNotExist"):
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [forbidden_field(f"{field}.values", detail)] if values else []
    if operator in ("Gt", "Lt"):
        detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        return [] if len(values) == 1 else [required(f"{field}.values", detail)]
    return [invalid_value(f"{field}.operator", operator, OPERATOR)]


def _validate_field(field: str, requirement: Obj) -> ErrorList:
    """Nodes can be asked for by name only."""
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    values = requirement.get("values") or []
    errors: ErrorList = []
    if operator not in ("In", "NotIn"):
        errors.append(invalid_value(f"{field}.operator", operator, OPERATOR))
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{field}.values", detail))
    if key != "metadata.name":
        return [*errors, invalid_value(f"{field}.key", key, "not a valid field selector key")]
    for index, value in enumerate(values):
        errors += validate_subdomain(f"{field}.values[{index}]", value)
    return errors


def _validate_weight(field: str, term: Obj) -> ErrorList:
    weight = term.get("weight", 0)
    return [] if 0 < weight <= 100 else [invalid_value(f"{field}.weight", weight, WEIGHT)]


def _validate_pod_affinity(field: str, affinity: Obj) -> ErrorList:
    errors: ErrorList = []
    for index, term in enumerate(affinity.get(REQUIRED) or ()):
        errors += _validate_pod_term(f"{field}.{REQUIRED}[{index}]", term)
    for index, weighted in enumerate(affinity.get(PREFERRED) or ()):
        place = f"{field}.{PREFERRED}[{index}]"
        errors += _validate_weight(place, weighted)
        errors += _validate_pod_term(f"{place}.podAffinityTerm", weighted.get("podAffinityTerm") or {})
    return errors


def _validate_pod_term(field: str, term: Obj) -> ErrorList:
    errors = validate_label_selector(f"{field}.labelSelector", term.get("labelSelector"))
    errors += validate_label_selector(f"{field}.namespaceSelector", term.get("namespaceSelector"))
    for name in term.get("namespaces") or ():
        errors += invalid_for_each(f"{field}.namespace", name, dns_label_errors(name))
    errors += validate_label_keys(field, term)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{field}.topologyKey", "can not be empty"))
    return errors + validate_qualified_name(f"{field}.topologyKey", key)
