"""Label and field selectors: parsing their texts and objects, and matching with them.

Parsing complains in the words of Kubernetes. A selector is compiled into one plain function, because every
watch calls it for every event. The grammar of label selectors is in `selector_syntax`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from fairway.api.selector_syntax import (
    Operator,
    Requirement,
    SelectorError,
    new_requirement,
    parse_requirements,
)

__all__ = [
    "FieldRequirement",
    "FieldSelector",
    "Requirement",
    "Selector",
    "SelectorError",
    "label_selector",
    "parse_field_selector",
    "parse_label_selector",
    "render_label_selector",
]

Matches: TypeAlias = Callable[[Mapping[str, str]], bool]


@dataclass(frozen=True, slots=True)
class Selector:
    """Conditions on labels that must all hold; none at all matches everything."""

    requirements: tuple[Requirement, ...] = ()
    matches: Matches = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "matches", _all_of([_compiled(r) for r in self.requirements]))

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    @property
    def empty(self) -> bool:
        return not self.requirements


def parse_label_selector(text: str) -> Selector:
    """`labelSelector=` of a query: `app=web,tier in (a,b),!canary`."""
    return _sorted(parse_requirements(text))


_OBJECT_OPERATORS: Mapping[str, Operator] = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.NOT_EXISTS,
}


def label_selector(obj: Mapping[str, Any] | None) -> Selector | None:
    """A LabelSelector object. None, for an absent one, selects nothing; an empty one everything."""
    if obj is None:
        return None
    requirements = [
        new_requirement(key, Operator.EQUALS, [value])
        for key, value in (obj.get("matchLabels") or {}).items()
    ]
    for expression in obj.get("matchExpressions") or ():
        operator = _OBJECT_OPERATORS.get(expression.get("operator", ""))
        if operator is None:
            raise SelectorError(f'"{expression.get("operator", "")}" is not a valid label selector operator')
        requirements.append(
            new_requirement(expression.get("key", ""), operator, expression.get("values") or [])
        )
    return _sorted(requirements)


def render_label_selector(obj: Mapping[str, Any] | None) -> str:
    """A LabelSelector object in the syntax of a query, as `/scale` shows it."""
    return str(label_selector(obj) or "")


def _sorted(requirements: list[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def _all_of(tests: list[Matches]) -> Matches:
    if not tests:
        return lambda labels: True
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda labels: first(labels) and second(labels)
    return lambda labels: all(test(labels) for test in tests)


def _compiled(requirement: Requirement) -> Matches:
    """A label that isn't there satisfies `!=` and `notin`."""
    key, values = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case Operator.EXISTS:
            return lambda labels: key in labels
        case Operator.NOT_EXISTS:
            return lambda labels: key not in labels
        case Operator.EQUALS | Operator.DOUBLE_EQUALS:
            (value,) = values
            return lambda labels: labels.get(key) == value
        case Operator.IN:
            return lambda labels: labels.get(key) in values
        case Operator.NOT_EQUALS | Operator.NOT_IN:
            return lambda labels: labels.get(key) not in values
    return _comparison(requirement)


def _comparison(requirement: Requirement) -> Matches:
    """`>` and `<` want whole numbers on both sides."""
    key, bound = requirement.key, int(requirement.values[0])
    greater = requirement.operator is Operator.GREATER

    def matches(labels: Mapping[str, str]) -> bool:
        value = labels.get(key, "")
        if not re.fullmatch(r"[+-]?[0-9]+", value):
            return False
        return int(value) > bound if greater else int(value) < bound

    return matches


# ---- fields --------------------------------------------------------------------------------------------


class FieldRequirement(NamedTuple):
    field: str
    operator: str
    """`=` or `!=`."""
    value: str


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Conditions on fields, given as texts by name (`spec.nodeName`); an absent one is the empty text."""

    requirements: tuple[FieldRequirement, ...] = ()
    matches: Matches = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "matches", _all_of([_compiled_field(r) for r in self.requirements]))

    @property
    def empty(self) -> bool:
        return not self.requirements


def parse_field_selector(text: str) -> FieldSelector:
    """`fieldSelector=` of a query: `metadata.name=web,status.phase!=Failed`."""
    terms = sorted(re.findall(r"(?:\\.|[^\\,])+\\?", text, re.DOTALL))
    return FieldSelector(tuple(_field_requirement(text, term) for term in terms))


def _field_requirement(text: str, term: str) -> FieldRequirement:
    if not (parts := re.fullmatch(r"(.*?)(!=|==|=)(.*)", term, re.DOTALL)):
        raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
    name, operator, value = parts.groups()
    return FieldRequirement(name, "!=" if operator == "!=" else "=", _unescaped(value))


def _unescaped(value: str) -> str:
    """A backslash stands before `\\`, `,` and `=`, which may not stand alone."""

    def replace(match: re.Match[str]) -> str:
        found = match[0]
        if found in ("\\\\", "\\,", "\\="):
            return found[1]
        if found.startswith("\\"):
            raise SelectorError(f"invalid field selector: invalid escape sequence: {found}")
        raise SelectorError(f"invalid field selector: unescaped character in value: {ord(found)}")

    return re.sub(r"\\.?|[,=]", replace, value, flags=re.DOTALL)


def _compiled_field(requirement: FieldRequirement) -> Matches:
    name, operator, value = requirement
    if operator == "=":
        return lambda fields: fields.get(name, "") == value
    return lambda fields: fields.get(name, "") != value
