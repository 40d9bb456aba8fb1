"""The statements of the nft language that our rules use, carried out for one packet.

Rules are read as text, the same that goes to the kernel, so that a wrong rule shows as a wrong way. A word
that isn't known is an error, never a guess.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Protocol

from fairway.testing.nft_expressions import Header, NoMatch, Words, concatenation, equal
from fairway.testing.tracing import UnknownRule

_CHANGES = ("update", "add", "delete")


class Step(enum.StrEnum):
    """What comes after a rule."""

    CONTINUE = "continue"
    JUMP = "jump"
    GOTO = "goto"
    RETURN = "return"
    ACCEPT = "accept"
    DROP = "drop"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Next:
    step: Step
    chain: str = ""

    @property
    def is_final(self) -> bool:
        return self.step in (Step.ACCEPT, Step.DROP, Step.REJECT)


GO_ON, ACCEPTED = Next(Step.CONTINUE), Next(Step.ACCEPT)
_PLAIN = {"drop": Next(Step.DROP), "accept": ACCEPTED, "return": Next(Step.RETURN)}


class NamedSet(Protocol):
    @property
    def definition(self) -> str: ...
    @property
    def elements(self) -> Mapping[str, str]: ...


class Sets:
    """The sets and maps of a table, and what packets have added to them."""

    def __init__(self, sets: Mapping[str, NamedSet], written: MutableMapping[str, dict[str, str]]) -> None:
        self._sets, self._written = sets, written

    def find(self, name: str, key: str) -> str:
        """The value of a key, or for a set, nothing; the rule is left if it isn't there."""
        known = self._sets.get(name)
        if known is None:
            raise UnknownRule(f"there is no set @{name}")
        elements = {**known.elements, **self._written.get(name, {})}
        if key in elements:
            return elements[key]
        if "interval" in known.definition:
            for wanted in elements:
                if equal(key, wanted):
                    return elements[wanted]
        raise NoMatch

    def write(self, name: str, key: str, value: str) -> None:
        """What exists is refreshed, never overwritten."""
        self._written.setdefault(name, {}).setdefault(key, value)

    def remove(self, name: str, key: str) -> None:
        if self._written.get(name, {}).pop(key, None) is None:
            raise NoMatch


def carry_out(rule: str, header: Header, sets: Sets) -> Next:
    """Change the header as the rule says; raises `NoMatch` if the rule doesn't apply."""
    words, after = Words(rule), GO_ON
    while words:
        if after is not GO_ON:
            raise UnknownRule(f"words after the verdict: {rule}")
        after = _statement(words, header, sets)
    return after


def _statement(words: Words, header: Header, sets: Sets) -> Next:
    head = words.next
    if head in _PLAIN:
        return _PLAIN[words.take()]
    if head in ("jump", "goto"):
        return Next(Step(words.take()), words.take())
    if head == "reject":
        return _reject(words, header)
    if head == "masquerade":
        return _masquerade(words, header)
    if head == "dnat":
        return _translate(words, header, sets)
    if head in _CHANGES:
        return _change(words, header, sets)
    for field in ("mark", "priority"):
        if words.accept("meta", field, "set"):
            return _assign(field, words, header, sets)
    return _match(words, header, sets)


def _reject(words: Words, header: Header) -> Next:
    for word in ("reject", "with"):
        words.expect(word)
    kind, how = words.take(), words.take()
    if how not in ("reset", "port-unreachable"):
        raise UnknownRule(words.rule)
    if kind == "tcp" and header.packet.protocol != "tcp":
        raise NoMatch
    return Next(Step.REJECT)


def _masquerade(words: Words, header: Header) -> Next:
    words.expect("masquerade")
    words.accept("fully-random")
    header.masqueraded = True
    return ACCEPTED


def _translate(words: Words, header: Header, sets: Sets) -> Next:
    words.take()
    words.take()  # the family, which is the table's
    words.expect("to")
    address, port = _looked_up(words, header, sets).split(" . ")
    header.packet, header.translated = header.packet.to(address, int(port)), True
    return ACCEPTED


def _assign(field: str, words: Words, header: Header, sets: Sets) -> Next:
    if words.accept("none"):
        header.priority = "0:0"
    elif field == "priority":
        header.priority = _looked_up(words, header, sets)
    else:
        header.mark = int(_looked_up(words, header, sets), 0)
    return GO_ON


def _looked_up(words: Words, header: Header, sets: Sets) -> str:
    """A value: an expression itself, or what a map has for it."""
    value = concatenation(words, header)
    return sets.find(words.take()[1:], value) if words.accept("map") else value


def _change(words: Words, header: Header, sets: Sets) -> Next:
    """`update @NAME { KEY timeout 60s : VALUE }`"""
    how, name = words.take(), words.take()[1:]
    words.expect("{")
    key = concatenation(words, header)
    if words.accept("timeout"):
        words.take()
    words.expect(":")
    value = concatenation(words, header)
    words.expect("}")
    if how == "delete":
        sets.remove(name, key)
    else:
        sets.write(name, key, value)
    return GO_ON


def _match(words: Words, header: Header, sets: Sets) -> Next:
    value = concatenation(words, header)
    if words.accept("vmap"):
        return _verdict(sets.find(words.take()[1:], value))
    wanted_not = words.accept("!=")
    words.accept("==")
    if _is_one_of(value, words, sets) == wanted_not:
        raise NoMatch
    return GO_ON


def _is_one_of(value: str, words: Words, sets: Sets) -> bool:
    if words.next.startswith("@"):
        try:
            sets.find(words.take()[1:], value)
        except NoMatch:
            return False
        return True
    if not words.accept("{"):
        return equal(value, words.take())
    wanted = [words.take()]
    while words.accept(","):
        wanted.append(words.take())
    words.expect("}")
    return any(equal(value, each) for each in wanted)


def _verdict(text: str) -> Next:
    if text in _PLAIN:
        return _PLAIN[text]
    step, chain = text.split(" ")
    return Next(Step(step), chain)
