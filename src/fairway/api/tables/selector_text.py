"""Labels and label selectors as one line of text, the way `kubectl get -o wide` shows them.

Only the text belongs here; whether a selector matches is decided elsewhere.
"""

from __future__ import annotations

from typing import Any, Final

from fairway.api.tables.column import NONE
from fairway.api.tables.reading import Object, entries, mapping, text

SETS: Final = {"In": "in", "NotIn": "notin"}


class UnknownOperator(ValueError):
    """A selector holds an operator that has no text."""


def labels_text(labels: Object) -> str:
    """`a=1,b=2` in the order of the keys."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) or NONE


def selector_text(selector: Object | None) -> str:
    """A LabelSelector in the syntax of query parameters; an empty one is `<none>`."""
    try:
        return requirements_text(selector) or NONE
    except UnknownOperator:
        return "<error>"


def requirements_text(selector: Object | None) -> str:
    """All requirements of a LabelSelector in the order of their keys, or nothing if it has none."""
    labels = mapping(selector or {}, "matchLabels")
    requirements = [(key, f"{key}={value}") for key, value in labels.items()]
    requirements += [_requirement(expression) for expression in entries(selector or {}, "matchExpressions")]
    return ",".join(shown for _, shown in sorted(requirements, key=lambda requirement: requirement[0]))


def _requirement(expression: dict[str, Any]) -> tuple[str, str]:
    key, operator = text(expression, "key"), text(expression, "operator")
    if operator in SETS:
        return key, f"{key} {SETS[operator]} ({','.join(sorted(entries(expression, 'values')))})"
    if operator == "Exists":
        return key, key
    if operator == "DoesNotExist":
        return key, f"!{key}"
    raise UnknownOperator(operator)
