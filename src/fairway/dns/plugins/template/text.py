"""The part of Go's templates that records are made with: fields, functions, pipelines, and `if`.

A template is read once, into steps; mistakes are found then. Filling it in never fails: what is not there is
empty, as in Go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairway.dns.corefile import Directive

_ACTION = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.DOTALL)
_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|`[^`]*`|-?\d+|\.[A-Za-z_][\w.]*|\.|[A-Za-z_]\w*|[()|])')
_FIELDS = ("Name", "Zone", "Type", "Class", "Remote", "Match", "Group", "Question", "Message", "Meta")

Values = Mapping[str, Any]
Expression = Callable[[Values], Any]


class TemplateError(ValueError):
    """A template that can't be read."""


@dataclass(frozen=True)
class Text:
    """`{{ if … }}` has two branches; all else is text or an expression."""

    parts: tuple[str | Expression | Choice, ...]

    @classmethod
    def parse(cls, line: Directive, source: str) -> Text:
        try:
            return _read(source)
        except TemplateError as error:
            raise line.error(f"plugin/template: {error}") from None

    def fill(self, values: Values) -> str:
        return "".join(_filled(part, values) for part in self.parts)


@dataclass(frozen=True)
class Choice:
    condition: Expression
    then: Text
    otherwise: Text


def _filled(part: str | Expression | Choice, values: Values) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Choice):
        return (part.then if part.condition(values) else part.otherwise).fill(values)
    return _written(part(values))


def _written(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


# ---- reading -------------------------------------------------------------------------------------------


def _read(source: str) -> Text:
    pieces = _pieces(source)
    text, ended = _block(pieces, 0)
    if ended != len(pieces):
        raise TemplateError("'{{ end }}' or '{{ else }}' without '{{ if }}'")
    return text


def _pieces(source: str) -> list[tuple[bool, str]]:
    """Texts and (True) actions, in order; dashes have taken their blanks away."""
    found: list[tuple[bool, str]] = []
    at, trim = 0, False
    for action in _ACTION.finditer(source):
        before = source[at : action.start()]
        before = before.lstrip() if trim else before
        found += [(False, before.rstrip() if action[1] else before), (True, action[2])]
        at, trim = action.end(), bool(action[3])
    rest = source[at:]
    found.append((False, rest.lstrip() if trim else rest))
    return found


def _block(pieces: list[tuple[bool, str]], at: int) -> tuple[Text, int]:
    """Reads up to an `else` or `end` that belongs to someone else."""
    parts: list[str | Expression | Choice] = []
    while at < len(pieces):
        is_action, text = pieces[at]
        if not is_action:
            parts.append(text)
        elif text == "end" or text.split(" ")[0] == "else":
            break
        elif text.startswith("if "):
            choice, at = _choice(pieces, at)
            parts.append(choice)
        elif not text.startswith("/*"):
            parts.append(_expression(text))
        at += 1
    return Text(tuple(parts)), at


def _choice(pieces: list[tuple[bool, str]], at: int) -> tuple[Choice, int]:
    condition = _expression(pieces[at][1].removeprefix("else ").removeprefix("if "))
    then, at = _block(pieces, at + 1)
    otherwise = Text(())
    if at < len(pieces) and pieces[at][1].startswith("else if "):
        nested, at = _choice(pieces, at)
        return Choice(condition, then, Text((nested,))), at
    if at < len(pieces) and pieces[at][1] == "else":
        otherwise, at = _block(pieces, at + 1)
    if at >= len(pieces) or pieces[at][1] != "end":
        raise TemplateError("'{{ if }}' without '{{ end }}'")
    return Choice(condition, then, otherwise), at


def _expression(text: str) -> Expression:
    tokens, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            raise TemplateError(f"'{{{{ {text} }}}}' is not supported")
        tokens.append(found[1])
        at = found.end()
    if not tokens:
        raise TemplateError("'{{ }}' is empty")
    made, rest = _pipeline(tokens, text)
    if rest:
        raise TemplateError(f"'{{{{ {text} }}}}' is not supported")
    return made


def _pipeline(tokens: list[str], text: str) -> tuple[Expression, list[str]]:
    made: Expression | None = None
    while True:
        command, tokens = _command(tokens, text, made)
        made = command
        if not tokens or tokens[0] != "|":
            return made, tokens
        tokens = tokens[1:]


def _command(tokens: list[str], text: str, piped: Expression | None) -> tuple[Expression, list[str]]:
    """A function with its arguments, or one value."""
    words: list[Expression] = []
    name = ""
    if tokens and tokens[0] in FUNCTIONS:
        name, tokens = tokens[0], tokens[1:]
    while tokens and tokens[0] not in (")", "|"):
        if tokens[0] == "(":
            inner, tokens = _pipeline(tokens[1:], text)
            if not tokens or tokens[0] != ")":
                raise TemplateError(f"'{{{{ {text} }}}}' has a bracket too few")
            words.append(inner)
            tokens = tokens[1:]
        else:
            words.append(_operand(tokens[0], text))
            tokens = tokens[1:]
    words += [piped] if piped else []
    if name:
        return _call(FUNCTIONS[name], words), tokens
    if len(words) != 1:
        raise TemplateError(f"'{{{{ {text} }}}}' is not supported")
    return words[0], tokens


def _call(function: Callable[..., Any], words: list[Expression]) -> Expression:
    def call(values: Values) -> Any:
        try:
            return function(*(word(values) for word in words))
        except (TypeError, ValueError, IndexError, KeyError):
            return ""

    return call


def _operand(token: str, text: str) -> Expression:
    if token.startswith('"'):
        literal = token[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        return lambda values: literal
    if token.startswith("`"):
        raw = token[1:-1]
        return lambda values: raw
    if re.fullmatch(r"-?\d+", token):
        number = int(token)
        return lambda values: number
    if token.startswith(".") and token[1:].split(".")[0] in _FIELDS:
        path = token[1:].split(".")
        return lambda values: _field(values, path)
    raise TemplateError(f"'{{{{ {text} }}}}' is not supported")


def _field(values: Values, path: list[str]) -> Any:
    found: Any = values
    for step in path:
        if isinstance(found, Mapping):
            found = found.get(step, "")
        elif isinstance(found, list) and step.isdigit():
            # `.Match.1`: not Go's, but short and clear.
            found = found[int(step)] if int(step) < len(found) else ""
        else:
            return ""
    return found


# ---- functions -----------------------------------------------------------------------------------------


def _index(of: Any, *at: Any) -> Any:
    for step in at:
        of = of[step]
    return of


def _printf(pattern: str, *values: Any) -> str:
    # Go's %v is Python's %s; the verbs for numbers and strings are the same in both.
    return pattern.replace("%v", "%s") % values


def _parse_int(text: str, base: int = 10, bits: int = 64) -> int:
    del bits
    return int(text, base)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "index": _index,
    "printf": _printf,
    "print": lambda *values: "".join(map(_written, values)),
    "parseInt": _parse_int,
    "len": len,
    "slice": lambda of, low=0, high=None: of[low:high],
    "eq": lambda first, *rest: first in rest,
    "ne": lambda first, second: first != second,
    "lt": lambda first, second: first < second,
    "le": lambda first, second: first <= second,
    "gt": lambda first, second: first > second,
    "ge": lambda first, second: first >= second,
    "not": lambda value: not value,
    "and": lambda *values: next((value for value in values if not value), values[-1]),
    "or": lambda *values: next((value for value in values if value), values[-1]),
}
