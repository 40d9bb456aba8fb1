"""matchLabelKeys and mismatchLabelKeys: selecting by the values that a Pod's own labels have.

On creation the keys become part of the selector, with the Pod's values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.names import validate_qualified_name
from fairway.api.validation.fields import ErrorList, forbidden_field, invalid_value


def validate_label_keys(field: str, term: Obj) -> ErrorList:
    matching, differing = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    selector = term.get("labelSelector")
    errors = _validate_keys(f"{field}.matchLabelKeys", matching, selector)
    errors += _validate_keys(f"{field}.mismatchLabelKeys", differing, selector)
    errors += _validate_apart(field, matching, selector or {})
    for index, key in enumerate(matching):
        if key in differing:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(invalid_value(f"{field}.matchLabelKeys[{index}]", key, detail))
    return errors


def _validate_keys(field: str, keys: list[str], selector: Obj | None) -> ErrorList:
    if keys and selector is None:
        return [forbidden_field(field, "must not be specified when labelSelector is not set")]
    errors: ErrorList = []
    for index, key in enumerate(keys):
        errors += validate_qualified_name(f"{field}[{index}]", key)
    return errors


def _validate_apart(field: str, keys: list[str], selector: Obj) -> ErrorList:
    """A key is merged once; if it is in the selector twice, it has also been given by hand."""
    errors: ErrorList = []
    seen = set(selector.get("matchLabels") or ())
    for expression in selector.get("matchExpressions") or ():
        key = expression.get("key", "")
        if key in keys and key in seen:
            place = len(keys) - 1 - keys[::-1].index(key)
            detail = "exists in both matchLabelKeys and labelSelector"
            errors.append(invalid_value(f"{field}[{place}]", key, detail))
        seen.add(key)
    return errors


def merge_label_keys(spec: Obj, labels: Mapping[str, str]) -> None:
    for term in _terms(spec):
        if (selector := term.get("labelSelector")) is None:
            continue
        for keys, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
            for key in term.get(keys) or ():
                if key in labels:
                    requirement = {"key": key, "operator": operator, "values": [labels[key]]}
                    selector.setdefault("matchExpressions", []).append(requirement)


def _terms(spec: Obj) -> Iterator[Obj]:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        for weighted in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted.get("podAffinityTerm") or {}
        yield from rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    yield from spec.get("topologySpreadConstraints") or ()
