"""The grammar of label selectors in queries, and the rules for a single requirement.

Text to requirements, nothing else; what they match is in `selectors`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from fairway.api.validation.fields import ErrorList, aggregated, invalid_value
from fairway.api.validation.names import label_value_errors, qualified_name_errors


class SelectorError(ValueError):
    """The selector makes no sense; says so as Kubernetes does."""


class Operator(Enum):
    """The value is how complaints spell it."""

    EXISTS = "exists"
    NOT_EXISTS = "!"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    GREATER = "gt"
    LESS = "lt"


_BINARY = {"in": Operator.IN, "notin": Operator.NOT_IN, "=": Operator.EQUALS, "==": Operator.DOUBLE_EQUALS}
_BINARY |= {"!=": Operator.NOT_EQUALS, ">": Operator.GREATER, "<": Operator.LESS}
_BINARY_NAMES = "in, notin, =, ==, !=, gt, lt"
_SIGNS = {Operator.GREATER: ">", Operator.LESS: "<"}
_SETS = (Operator.IN, Operator.NOT_IN)
_COMPARISONS = (Operator.GREATER, Operator.LESS)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.NOT_EXISTS:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.value} ({','.join(self.values)})"
        return f"{self.key}{_SIGNS.get(self.operator, self.operator.value)}{self.values[0]}"


def new_requirement(key: str, operator: Operator, values: Iterable[str] = ()) -> Requirement:
    """Checks key, values and whether they fit the operator."""
    requirement = Requirement(key, operator, tuple(sorted(set(values))))
    if errors := _key_errors(key, "key") + _count_errors(requirement) + _value_errors(requirement):
        raise SelectorError(aggregated(errors))
    return requirement


def _key_errors(key: str, path: str) -> ErrorList:
    errors = qualified_name_errors(key)
    return [invalid_value(path, key, "; ".join(errors))] if errors else []


def _count_errors(requirement: Requirement) -> ErrorList:
    operator, values = requirement.operator, list(requirement.values)
    if operator in _SETS:
        wrong, complaint = not values, "for 'in', 'notin' operators, values set can't be empty"
    elif operator in (Operator.EXISTS, Operator.NOT_EXISTS):
        wrong, complaint = bool(values), "values set must be empty for exists and does not exist"
    elif operator in _COMPARISONS:
        wrong, complaint = len(values) != 1, "for 'Gt', 'Lt' operators, exactly one value is required"
    else:
        wrong, complaint = len(values) != 1, "exact-match compatibility requires one single value"
    return [invalid_value("values", values, complaint)] if wrong else []


def _value_errors(requirement: Requirement) -> ErrorList:
    errors: ErrorList = []
    for index, value in enumerate(requirement.values):
        if requirement.operator in _COMPARISONS and not re.fullmatch(r"[+-]?[0-9]+", value):
            complaint = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(invalid_value(f"values[{index}]", value, complaint))
        if complaints := label_value_errors(value):
            errors.append(invalid_value(f"values[{index}]", value, "; ".join(complaints)))
    return errors


# ---- parsing -------------------------------------------------------------------------------------------

_SPACE = " \t\r\n"
_TOKEN = re.compile(r"[ \t\r\n]*(?:(?P<sign>==|!=|[=!(),<>])|(?P<word>[^ \t\r\n=!(),<>]+))")


class _Token(NamedTuple):
    text: str
    is_word: bool = False


_END = _Token("")


def parse_requirements(text: str) -> list[Requirement]:
    """In the order of the text. `in` and `notin` are words like others except between a key and a list."""
    parser = _Parser(text)
    requirements: list[Requirement] = []
    while (token := parser.next) is not _END:
        if not token.is_word and token.text != "!":
            raise SelectorError(f"found '{token.text}', expected: !, identifier, or 'end of string'")
        try:
            requirements.append(parser.requirement())
        except SelectorError as error:
            raise SelectorError(f"unable to parse requirement: {error}") from error
        parser.separator()
    return requirements


class _Parser:
    def __init__(self, text: str) -> None:
        tokens = [
            _Token(m[0].strip(" \t\r\n"), m["word"] is not None) for m in _TOKEN.finditer(text.rstrip(_SPACE))
        ]
        self._tokens = iter([*tokens, _END])
        self.next = next(self._tokens)

    def _take(self) -> _Token:
        token, self.next = self.next, next(self._tokens, _END)
        return token

    def separator(self) -> None:
        """A comma with something after it, or the end."""
        if (token := self._take()) is _END:
            return
        if token.text != ",":
            raise SelectorError(f"found '{token.text}', expected: ',' or 'end of string'")
        if not self.next.is_word and self.next.text != "!":
            raise SelectorError(f"found '{self.next.text}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        negated = self.next.text == "!"
        if negated:
            self._take()
        key = self._take()
        if not key.is_word:
            raise SelectorError(f"found '{key.text}', expected: identifier")
        if errors := _key_errors(key.text, "<nil>"):
            raise SelectorError(aggregated(errors))
        if negated or self.next is _END or self.next.text == ",":
            return new_requirement(key.text, Operator.NOT_EXISTS if negated else Operator.EXISTS)
        operator = self._operator()
        return new_requirement(key.text, operator, self._values() if operator in _SETS else [self._value()])

    def _operator(self) -> Operator:
        token = self._take()
        if token.text not in _BINARY:
            raise SelectorError(f"found '{token.text}', expected: {_BINARY_NAMES}")
        return _BINARY[token.text]

    def _value(self) -> str:
        """Nothing after the operator is the empty value."""
        if self.next is _END or self.next.text == ",":
            return ""
        token = self._take()
        if not token.is_word:
            raise SelectorError(f"found '{token.text}', expected: identifier")
        return token.text

    def _values(self) -> list[str]:
        """`(a,b)`; an empty place between commas or parentheses is the empty value."""
        if (token := self._take()).text != "(":
            raise SelectorError(f"found '{token.text}' expected: '('")
        if self.next.text == ")":
            self._take()
            return []
        if not self.next.is_word and self.next.text != ",":
            raise SelectorError(f"found '{self.next.text}', expected: ',', ')' or identifier")
        values = [self._list_item()]
        while (token := self._take()).text == ",":
            values.append(self._list_item())
        if token.text != ")":
            raise SelectorError(f"found '{token.text}', expected: ',' or ')'")
        return values

    def _list_item(self) -> str:
        if self.next.text in (",", ")") and not self.next.is_word:
            return ""
        token = self._take()
        if not token.is_word:
            raise SelectorError(f"found '{token.text}', expected: ',', or identifier")
        return token.text
