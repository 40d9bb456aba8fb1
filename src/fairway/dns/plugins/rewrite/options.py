"""The lines of the `rewrite` directive, read into rules.

rewrite [continue|stop] name [exact|prefix|suffix|substring|regex] FROM TO [answer auto|name|value …]
rewrite [continue|stop] type|class FROM TO
rewrite [continue|stop] ttl [MATCH] NAME SECONDS|MIN-MAX
rewrite [continue|stop] rcode [MATCH] NAME FROM TO
rewrite [continue|stop] edns0 …   (see `edns0`)
"""

from __future__ import annotations

import re
from collections.abc import Callable

from fairway.dns import rdata
from fairway.dns.arguments import integer
from fairway.dns.corefile import Directive
from fairway.dns.plugins.rewrite import edns0
from fairway.dns.plugins.rewrite.rules import (
    Change,
    ClassRule,
    NameRule,
    RcodeRule,
    Rule,
    TtlRule,
    TypeRule,
    beginning,
    containing,
    ending,
    exactly,
    fitting,
)

_MATCHES = ("exact", "prefix", "suffix", "substring", "regex")
_LONGEST = 2**31 - 1
_KINDS: dict[str, Callable[[str, str], Change]] = {
    "exact": exactly,
    "prefix": beginning,
    "suffix": ending,
    "substring": containing,
}


def parse(line: Directive) -> tuple[Rule, bool]:
    """The rule and whether it is the last one when it applies."""
    words = list(line.args)
    stops = True
    if words and words[0] in ("continue", "stop"):
        stops = words.pop(0) == "stop"
    if line.has_body:
        for inner in line.body:
            words += [inner.name, *inner.args]
    if not words:
        raise line.wrong_arguments()
    reader = _READERS.get(words[0])
    if reader is None:
        raise line.error(f"plugin/rewrite: unsupported rule '{words[0]}'")
    return reader(line, words[1:]), stops


def _match(line: Directive, words: list[str]) -> str:
    """Takes the kind of match off the words; `exact` is the default."""
    return words.pop(0) if words and words[0] in _MATCHES else "exact"


def _absolute(text: str) -> str:
    lower = text.lower()
    return lower if lower.endswith(".") else lower + "."


def _name(line: Directive, words: list[str]) -> Rule:
    kind = _match(line, words)
    if len(words) < 2:
        raise line.wrong_arguments()
    old, new, rest = words[0], _absolute(words[1]), words[2:]
    names, values, automatic = _answers(line, rest)
    if kind == "regex":
        if automatic:
            raise line.error("plugin/rewrite: 'answer auto' is not possible with 'regex'")
        return NameRule(fitting(_pattern(line, old), new), names, values)
    change, back = _KINDS[kind](_absolute(old), new), _KINDS[kind](new, _absolute(old))
    if automatic or kind == "exact":
        names, values = (*names, back), (*values, back)
    return NameRule(change, names, values)


def _answers(line: Directive, words: list[str]) -> tuple[tuple[Change, ...], tuple[Change, ...], bool]:
    """The `answer` clauses: changes of names, of values, and whether they follow from the rule itself."""
    names: list[Change] = []
    values: list[Change] = []
    automatic = False
    while words:
        match words:
            case ["answer", "auto", *rest]:
                automatic = True
            case ["answer", "name" | "value" as part, old, new, *rest]:
                change = fitting(_pattern(line, old), _absolute(new))
                (names if part == "name" else values).append(change)
            case ["answer", old, new, *rest]:
                names.append(fitting(_pattern(line, old), _absolute(new)))
            case _:
                raise line.error(f"plugin/rewrite: unexpected '{words[0]}'")
        words = rest
    return tuple(names), tuple(values), automatic


def _pattern(line: Directive, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise line.error(f"plugin/rewrite: invalid regex pattern '{text}': {error}") from None


def _concerned(line: Directive, words: list[str]) -> Change:
    """Which names a rule is about, as a change that is never carried out."""
    kind = _match(line, words)
    text = words.pop(0)
    if kind == "regex":
        return fitting(_pattern(line, text), "")
    return _KINDS[kind](_absolute(text), "")


def _type(line: Directive, words: list[str]) -> Rule:
    return TypeRule(*_numbers(line, words, rdata.type_number))


def _class(line: Directive, words: list[str]) -> Rule:
    return ClassRule(*_numbers(line, words, rdata.class_number))


def _numbers(line: Directive, words: list[str], number: Callable[[str], int]) -> tuple[int, int]:
    if len(words) != 2:
        raise line.wrong_arguments()
    try:
        return number(words[0]), number(words[1])
    except rdata.RecordError as error:
        raise line.error(f"plugin/rewrite: {error}") from None


def _ttl(line: Directive, words: list[str]) -> Rule:
    words = list(words)
    if len(words) not in (2, 3):
        raise line.wrong_arguments()
    concerned = _concerned(line, words)
    low, dash, high = words[0].partition("-")
    if not dash:
        high = low
    return TtlRule(concerned, integer(line, low or "0"), integer(line, high or str(_LONGEST)))


def _rcode(line: Directive, words: list[str]) -> Rule:
    words = list(words)
    if len(words) not in (3, 4):
        raise line.wrong_arguments()
    concerned = _concerned(line, words)
    return RcodeRule(concerned, *_numbers(line, words, rdata.rcode_number))


_READERS: dict[str, Callable[[Directive, list[str]], Rule]] = {
    "edns0": edns0.parse,
    "name": _name,
    "type": _type,
    "class": _class,
    "ttl": _ttl,
    "rcode": _rcode,
}
